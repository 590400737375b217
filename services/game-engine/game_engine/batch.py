"""The writer loop: gather what arrived, load, judge, commit, answer, push.

One batch is one load and one write statement, with at most one command of each game. A replica
owns nothing: the write wins only where the game is as it was loaded, and what lost is judged
again. After a lost connection nobody knows whether the write was committed; the next load tells,
by the game's revision and by the stored answers.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final
from uuid import UUID

import asyncpg
import msgspec
import structlog

from game_engine import frames
from game_engine.cache import GameCache
from game_engine.connection import Connection, ConnectionLostError, TryAgainError
from game_engine.deadlines import Heartbeat
from game_engine.domain.change import Change
from game_engine.domain.judge import Command, Verdict, judge, judge_expiry
from game_engine.domain.record import GameRecord
from game_engine.metrics import ACCEPTED, BATCH_SECONDS, BATCHED, COMMANDS, RACES
from game_engine.queue import CommandQueue, Pending
from game_engine.results import finish_messages
from game_engine.settings import EngineSettings
from game_engine.store import Loaded, Wanted, load, write
from shared import errors, failpoints
from shared.bus import Bus, Incoming
from shared.contracts.base import encode
from shared.contracts.engine import ACT, BOT_PUSH, GAME_PUSH, ActReply, ActRequest

MAX_ATTEMPTS: Final = 12
RETRY_MAX_S: Final = 0.1
PATIENCE_MS: Final = int(ACT.timeout_s * 1000)

_decode_request = msgspec.json.Decoder(ActRequest).decode

log = structlog.get_logger()


class Decided(msgspec.Struct, frozen=True):
    """A change that waits for the commit."""

    pending: Pending
    verdict: Verdict
    change: Change
    after: GameRecord


class Batcher:
    """The only writer of moves in this process."""

    def __init__(
        self,
        connection: Connection,
        bus: Bus,
        heartbeat: Heartbeat,
        settings: EngineSettings,
        wake_outbox: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._bus = bus
        self._clock = heartbeat.clock
        self._heartbeat = heartbeat
        self._settings = settings
        self._wake_outbox = wake_outbox
        self._cache = GameCache(settings.cached_games)
        self._queue = CommandQueue(settings.queue_size)
        self._arrived = asyncio.Event()
        self._delayed = 0  # commands that wait for another attempt outside of the queue
        self._is_closing = False
        self._undone: list[Pending] = []  # of the present batch
        self._refusals: set[asyncio.Task[None]] = set()

    # --- in --------------------------------------------------------------------------------------

    def accept_player(self, incoming: Incoming) -> None:
        """Take a request of ``engine.act``; it is answered after its commit."""
        self._accept(incoming, is_bot=False)

    def accept_bot(self, incoming: Incoming) -> None:
        """Take a request of ``engine.bot_act``."""
        self._accept(incoming, is_bot=True)

    def _accept(self, incoming: Incoming, *, is_bot: bool) -> None:
        try:
            request = _decode_request(incoming.data)
        except msgspec.DecodeError:
            self._refuse_soon(incoming, errors.InvalidRequest())
            return
        command = Command(
            request.player_id, request.request_id, request.sequence, request.type,
            bytes(request.payload), is_bot, self._clock.now_ms(),
        )  # fmt: skip
        if self._queue.put(Pending(request.game_id, command, incoming)):
            self._arrived.set()
        else:
            COMMANDS.labels(errors.Unavailable.code).inc()
            self._refuse_soon(incoming, errors.Unavailable())

    def _refuse_soon(self, incoming: Incoming, error: errors.AppError) -> None:
        task = asyncio.create_task(incoming.refuse(error))
        self._refusals.add(task)
        task.add_done_callback(self._refusals.discard)

    def expire(self, game_id: UUID, seen_sequence: int) -> None:
        """Take a deadline that was found due; dropped if the queue is full, the scan repeats it."""
        if self._queue.put(Pending(game_id, seen_sequence=seen_sequence)):
            self._arrived.set()

    # --- the loop --------------------------------------------------------------------------------

    async def run(self, stop: asyncio.Event) -> None:  # ends when it is drained
        """Process batches until ``close_when_empty`` was called and nothing waits any more."""
        while True:
            if not self._queue:
                if self._is_closing and not self._delayed:
                    return
                self._arrived.clear()
                await self._arrived.wait()
                continue
            # In this order: waiting for the connection may be waiting for the end of an outage.
            await self._connection.open()
            await self._heartbeat.ensure_judging()
            batch = self._take()
            started = time.perf_counter()
            await self._process(batch)
            BATCHED.inc(len(batch))
            BATCH_SECONDS.observe(time.perf_counter() - started)

    def _take(self) -> list[Pending]:
        """Take a batch without the commands whose caller has given up: he repeats them."""
        oldest_ms = self._clock.now_ms() - PATIENCE_MS
        batch = []
        for pending in self._queue.take(self._settings.batch_size):
            if pending.command is not None and pending.command.arrived_ms < oldest_ms:
                COMMANDS.labels("LATE").inc()
            else:
                batch.append(pending)
        return batch

    async def close_when_empty(self) -> None:
        """Let ``run`` end once everything that arrived is answered."""
        self._is_closing = True
        self._arrived.set()

    async def _process(self, batch: list[Pending]) -> None:
        self._undone = batch
        try:
            await self._attempt(batch)
        except ConnectionLostError:
            self._return(self._undone)
        except TryAgainError:
            for pending in self._undone:
                await self._try_again(pending)
        except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            await self._process_one_by_one(self._undone, error)
        except Exception as error:
            log.exception("batch failed")
            await self._process_one_by_one(self._undone, error)

    def _return(self, batch: list[Pending]) -> None:
        for pending in reversed(batch):
            self._queue.put_back(pending)

    async def _process_one_by_one(self, batch: list[Pending], error: Exception) -> None:
        """Find the command whose statement fails; the others must not suffer from it."""
        if len(batch) == 1:
            # The text of the error may quote what was to be written: hands, the deck.
            log.error("command failed", game_id=str(batch[0].game_id), **_named(error))
            await self._answer(batch[0], Verdict(error=errors.Internal()))
            return
        log.warning("batch runs one by one", size=len(batch), **_named(error))
        for position, pending in enumerate(batch):
            await self._process([pending])
            if not self._connection.is_open:
                self._return(batch[position + 1 :])
                return

    async def _attempt(self, batch: list[Pending]) -> None:
        loaded = await load(self._connection, [self._wanted(pending) for pending in batch])
        if not self._heartbeat.may_judge():  # loading took long: an outage may be under way
            self._return(batch)
            return
        decided: list[Decided] = []
        for pending, found in zip(batch, loaded, strict=True):
            verdict = self._judge(pending, found)
            if verdict.change is None:
                await self._answer(pending, verdict)
            else:
                decided.append(Decided(pending, verdict, verdict.change, verdict.change.after()))
        if decided:
            self._undone = [item.pending for item in decided]
            await self._commit(decided)

    def _wanted(self, pending: Pending) -> Wanted:
        cached = self._cache.get(pending.game_id)
        command = pending.command
        if command is None:
            return Wanted(pending.game_id, cached)
        return Wanted(pending.game_id, cached, command.player_id, command.request_id)

    def _judge(self, pending: Pending, found: Loaded) -> Verdict:
        record, command, outages = found.record, pending.command, self._heartbeat.outages
        if record is not None:
            self._cache.put(record)
        try:
            if command is not None:
                return judge(record, found.reply, command, outages)
            if record is None or record.sequence != pending.seen_sequence:
                return Verdict()
            return Verdict(judge_expiry(record, self._clock.now_ms(), outages))
        except Exception:
            log.exception("judging failed", game_id=str(pending.game_id))
            return Verdict(error=errors.Internal())

    async def _commit(self, decided: list[Decided]) -> None:
        messages = [
            (index, row)
            for index, item in enumerate(decided)
            if item.after.result is not None and item.change.events
            for row in finish_messages(item.after)
        ]
        failpoints.hit("engine.act.before_commit")
        won = await write(
            self._connection,
            [item.change for item in decided],
            [item.after for item in decided],
            messages,
        )
        failpoints.hit("engine.act.after_commit")
        if messages:
            failpoints.hit("engine.finish.after_commit")
            self._wake_outbox()
        winners = [item for index, item in enumerate(decided) if index in won]
        self._undone = [item.pending for index, item in enumerate(decided) if index not in won]
        for item in winners:
            self._cache.put(item.after)
        failpoints.hit("engine.act.before_reply")
        for item in winners:
            await self._answer(item.pending, item.verdict)
        for pending in self._undone:
            await self._try_again(pending)
        self._undone = []
        for item in winners:
            await self._push(item)

    # --- out -------------------------------------------------------------------------------------

    async def _answer(self, pending: Pending, verdict: Verdict) -> None:
        incoming, error = pending.incoming, verdict.error
        if incoming is None:
            return
        if error is not None:
            COMMANDS.labels(error.code).inc()
            await incoming.refuse(error)
            return
        ACCEPTED.inc()
        await incoming.reply(ActReply(verdict.sequence))

    async def _try_again(self, pending: Pending) -> None:
        """Queue what lost a race; after many lost ones the game is locked by something slow."""
        RACES.inc()
        pending.attempts += 1
        if pending.attempts <= 2:
            self._queue.put_back(pending)
        elif pending.attempts <= MAX_ATTEMPTS:
            self._delayed += 1
            delay_s = min(0.001 * 2**pending.attempts, RETRY_MAX_S)
            asyncio.get_running_loop().call_later(delay_s, self._return_delayed, pending)
        else:
            await self._answer(pending, Verdict(error=errors.Unavailable()))

    def _return_delayed(self, pending: Pending) -> None:
        self._delayed -= 1
        self._queue.put_back(pending)
        self._arrived.set()

    async def _push(self, item: Decided) -> None:
        """Tell everybody; what is lost here is found again by sequence."""
        if not item.change.events:
            return
        game_id = item.pending.game_id
        try:
            push = frames.push_of(item.change, item.after, self._clock.now_ms())
            turns = frames.bot_turns(item.after)
        except Exception:
            log.exception("frames failed", game_id=str(game_id))
            return
        await self._bus.push(GAME_PUSH, game_id, encode(push))
        for turn in turns:
            await self._bus.push(BOT_PUSH, turn.player_id, encode(turn))


def _named(error: Exception) -> dict[str, str | None]:
    return {"error": type(error).__name__, "sqlstate": getattr(error, "sqlstate", None)}
