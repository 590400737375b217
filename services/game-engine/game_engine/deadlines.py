"""Time: the shared heartbeat, which finds outages, and the scan for deadlines that have come."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Final
from uuid import UUID

import structlog

from game_engine import queries
from game_engine.clock import DatabaseClock
from game_engine.connection import Connection, ConnectionLostError, TryAgainError
from game_engine.domain.outages import Outages
from game_engine.settings import EngineSettings
from game_engine.store import Due, due_games, sleep_until
from shared import errors
from shared.bus import Bus
from shared.db import Database

BEAT_INTERVAL_S: Final = 1.0
GATEWAY: Final = "realtime"
# Nothing is judged by a replica that has heard of no beat for so long: there may be an outage that
# it does not know of. Must be below the gap that makes an outage, by more than a beat's duration.
FRESH_S: Final = 2.5
OUTAGE_GAP_MS: Final = 5000
PING_TIMEOUT_S: Final = 1.0
PING_LIFE_S: Final = 60
RETRY_S: Final = 0.1
SCAN_LIMIT: Final = 500
FED_AGAIN_MS: Final = 1000

log = structlog.get_logger()


class Pulse:
    """Asks NATS whether it is there.

    A ping that gets no answer in time is left to be answered later: the client breaks its
    connection when the answer to a ping that was given up arrives.
    """

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._ping: asyncio.Task[None] | None = None
        bus.on_reconnect.append(self._forget)

    async def feel(self) -> None:
        """Return when NATS has answered.

        Raises:
            Unavailable: it does not, within ``PING_TIMEOUT_S``.
        """
        if not self._bus.is_connected:
            raise errors.Unavailable("NATS is away")
        ping = self._ping
        if ping is None:
            ping = self._ping = asyncio.create_task(self._bus.client.flush(PING_LIFE_S))
            ping.add_done_callback(_retrieve)
        done, _ = await asyncio.wait({ping}, timeout=PING_TIMEOUT_S)
        if not done:
            raise errors.Unavailable("NATS does not answer")
        self._ping = None
        if ping.cancelled() or ping.exception() is not None:
            raise errors.Unavailable("NATS does not answer")

    async def _forget(self) -> None:
        self._ping = None  # the answer would have come on the old connection


def _retrieve(ping: asyncio.Task[None]) -> None:
    if not ping.cancelled():
        ping.exception()


class Heartbeat:
    """Advances the heartbeat row while players can play; knows every outage.

    Players can play while PostgreSQL, NATS and at least one gateway answer.
    """

    def __init__(self, db: Database, bus: Bus, clock: DatabaseClock) -> None:
        self.outages = Outages()
        self._db = db
        self._bus = bus
        self._pulse = Pulse(bus)
        self.clock = clock
        self._last_outage_id = 0
        self._known_at_s = float("-inf")
        self._beat_at_s = float("-inf")
        self._beating = asyncio.Lock()

    async def run(self, stop: asyncio.Event) -> None:
        """Beat once a second until ``stop`` is set."""
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), BEAT_INTERVAL_S)
            await self._try_beat(BEAT_INTERVAL_S / 2)

    def knows_outages(self) -> bool:
        """Tell whether every outage that has ended is known here: what views need."""
        return time.monotonic() - self._known_at_s < FRESH_S

    def may_judge(self) -> bool:
        """Tell whether no outage can be under way, nor one have ended that is not known here."""
        return time.monotonic() - self._beat_at_s < FRESH_S

    async def ensure_known(self) -> None:
        """Return once ``knows_outages``, however long that takes."""
        await self._ensure(self.knows_outages)

    async def ensure_judging(self) -> None:
        """Return once ``may_judge``, however long that takes."""
        await self._ensure(self.may_judge)

    async def _ensure(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            self.clock.forget()
            if not await self._try_beat(FRESH_S) or not is_so():
                await asyncio.sleep(RETRY_S)

    async def _try_beat(self, max_age_s: float) -> bool:
        async with self._beating:
            if time.monotonic() - self._beat_at_s < max_age_s:
                return True
            try:
                await self._beat()
            except errors.Unavailable as error:
                log.warning("no heartbeat", error=repr(error))
                return False
            return True

    async def _beat(self) -> None:
        await self._pulse.feel()
        is_up = await self._bus.answers(GATEWAY, PING_TIMEOUT_S)
        if not is_up:
            log.warning("no gateway answers: the players' time stands still")
        asked_at_s = time.monotonic()
        beat = await self._db.run(
            lambda tx: queries.beat(tx, OUTAGE_GAP_MS, self._last_outage_id, is_up=is_up)
        )
        self.clock.measure(beat.database_ms, asked_at_s, time.monotonic())
        for outage_id, outage in beat.outages:
            self.outages.add(outage)
            self._last_outage_id = outage_id
            log.warning("outage", from_ms=outage.from_ms, to_ms=outage.to_ms)
        # Counted from the question: what was committed after it may be missing in the answer.
        self._known_at_s = asked_at_s
        if is_up:
            self._beat_at_s = asked_at_s


class Scanner:
    """Feeds deadlines that have come into the batches, and lets the others sleep on."""

    def __init__(
        self,
        connection: Connection,
        heartbeat: Heartbeat,
        settings: EngineSettings,
        expire: Callable[[UUID, int], None],
    ) -> None:
        """``expire`` takes a game and the sequence at which its deadline was found due."""
        self._connection = connection
        self._clock = heartbeat.clock
        self._heartbeat = heartbeat
        self._settings = settings
        self._expire = expire
        self._fed: dict[UUID, int] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Scan until ``stop`` is set."""
        while not stop.is_set():
            with contextlib.suppress(ConnectionLostError, TryAgainError):
                await self._connection.open()
                await self._scan()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), self._settings.scan_interval_s)

    async def _scan(self) -> None:
        if not self._heartbeat.may_judge():
            return
        now_ms = self._clock.now_ms()
        due_ms = now_ms - self._settings.expiry_grace_ms
        self._fed = {game: at_ms for game, at_ms in self._fed.items() if at_ms > now_ms}
        asleep: list[tuple[Due, int]] = []
        for due in await due_games(self._connection, due_ms, SCAN_LIMIT):
            owed_ms = self._heartbeat.outages.owed_ms(due.updated_ms, due.deadline_ms)
            deadline_ms = due.deadline_ms + owed_ms
            if deadline_ms > due_ms:
                asleep.append((due, deadline_ms))
            elif due.game_id not in self._fed:
                self._fed[due.game_id] = now_ms + FED_AGAIN_MS
                self._expire(due.game_id, due.sequence)
        if asleep:
            await sleep_until(self._connection, asleep)
