"""Repair of pushes that never came: sequences are compared with the engine's every 3 s.

The last push of a game has none after it that would show a gap; this finds it. It also finds
sockets of players that do not get the pushes of their games, and follows every NATS reconnect.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any
from uuid import UUID

import structlog

from realtime import metrics
from realtime.backend import Backend
from realtime.feed import Feed
from realtime.feeds import Feeds
from realtime.gatekeeper import Gatekeeper
from realtime.hub import Hub
from realtime.pushes import Pushes
from shared import errors
from shared.contracts.engine import GET_SEQUENCES, GetSequences

CHUNK = 1000
PARALLEL = 32

log = structlog.get_logger()


class Resync:
    """Compares what was delivered with what is true."""

    def __init__(
        self,
        hub: Hub,
        feeds: Feeds,
        pushes: Pushes,
        gatekeeper: Gatekeeper,
        backend: Backend,
        *,
        interval_s: float,
        grace_s: float,
    ) -> None:
        self._hub = hub
        self._feeds = feeds
        self._pushes = pushes
        self._gatekeeper = gatekeeper
        self._backend = backend
        self._interval_s = interval_s
        self._grace_s = grace_s
        self._now = asyncio.Event()

    async def after_reconnect(self) -> None:
        """Look at once: pushes may have been lost. Called by the bus, must not wait."""
        self._now.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Look again and again until stopped."""
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._now.wait(), self._interval_s)
            if stop.is_set():
                return
            lost_connection = self._now.is_set()
            self._now.clear()
            try:
                if lost_connection:
                    await self.reload_revoked()
                await self._look()
            except errors.AppError as error:
                log.warning("resync is not possible", code=error.code)
                if lost_connection and not stop.is_set():
                    await asyncio.sleep(min(1.0, self._interval_s))
                    self._now.set()

    async def reload_revoked(self) -> None:
        """Learn which sessions were revoked while nobody could tell, and end them."""
        self._pushes.end_sessions(await self._gatekeeper.load_revoked())

    async def _look(self) -> None:
        game_ids = [feed.game_id for feed in self._feeds.all()]
        player_ids = list(self._hub.players)
        for start in range(0, max(len(game_ids), len(player_ids)), CHUNK):
            part = slice(start, start + CHUNK)
            await self._compare(game_ids[part], player_ids[part])

    async def _compare(self, game_ids: list[UUID], player_ids: list[UUID]) -> None:
        reply = await self._backend.once(GET_SEQUENCES, GetSequences(game_ids, player_ids))
        behind = [
            (feed, sequence)
            for game_id, sequence in reply.sequences.items()
            if (feed := self._feeds.get(game_id)) is not None and _is_behind(feed, sequence)
        ]
        if behind:
            await asyncio.sleep(self._grace_s)  # most of these are on their way
        repairs: list[Coroutine[Any, Any, object]]
        repairs = [self._repair(feed) for feed, sequence in behind if _is_behind(feed, sequence)]
        repairs += [
            self._feeds.join(game_id, player_id, missing)
            for player_id, running in reply.running.items()
            if (player := self._hub.players.get(player_id)) is not None
            for game_id in running
            if (missing := self._feeds.missing(game_id, player.connections))
        ]
        for start in range(0, len(repairs), PARALLEL):
            await asyncio.gather(*map(_attempt, repairs[start : start + PARALLEL]))

    async def _repair(self, feed: Feed) -> None:
        if self._feeds.get(feed.game_id) is feed:
            metrics.REPAIRED.inc()
            await self._feeds.repair(feed)


async def _attempt(repair: Coroutine[Any, Any, object]) -> None:
    """Do one repair; what fails is tried again by the next look."""
    try:
        await repair
    except errors.AppError as error:
        log.warning("a repair failed", code=error.code)


def _is_behind(feed: Feed, sequence: int) -> bool:
    return bool(feed.members) and (feed.order.sequence or 0) < sequence
