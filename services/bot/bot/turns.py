"""Turns that wait to be played, and the bounded number of seats that are played at once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias
from uuid import UUID

import structlog

from shared import metrics
from shared.contracts.engine import BotTurn

MAX_WAITING = 10_000  # seats; turns beyond that are left to the next poll

Seat: TypeAlias = tuple[UUID, UUID]  # game, player

log = structlog.get_logger()


class Turns:
    """The newest turn of every seat that is to be played; one worker a seat at a time."""

    def __init__(
        self,
        play: Callable[[BotTurn], Awaitable[None]],
        think_s: Callable[[], float],
        *,
        max_thinking: int,
    ) -> None:
        self._play = play
        self._think_s = think_s
        self._max_thinking = max_thinking
        self._newest: dict[Seat, BotTurn] = {}
        self._queue: asyncio.Queue[Seat] = asyncio.Queue(MAX_WAITING)

    def offer(self, turn: BotTurn) -> None:
        """Have a turn played, unless this seat's worker knows of it or of a later one."""
        seat = (turn.game_id, turn.player_id)
        known = self._newest.get(seat)
        if known is not None:
            if turn.sequence > known.sequence:
                self._newest[seat] = turn
        elif not self._queue.full():
            self._newest[seat] = turn
            self._queue.put_nowait(seat)

    async def run(self, stop: asyncio.Event) -> None:
        """Play turns until ``stop`` is set. What is cut off then, another replica repeats."""
        async with asyncio.TaskGroup() as group:
            workers = [group.create_task(self._work()) for _ in range(self._max_thinking)]
            await stop.wait()
            for worker in workers:
                worker.cancel()

    async def _work(self) -> None:
        while True:
            seat = await self._queue.get()
            try:
                await self._play_seat(seat)
            except Exception:
                # One seat's trouble is not the others'; the poll brings the turn again.
                metrics.JOB_FAILURES.labels("turns").inc()
                log.exception("turn failed", game_id=str(seat[0]), player_id=str(seat[1]))
            finally:
                del self._newest[seat]

    async def _play_seat(self, seat: Seat) -> None:
        played: BotTurn | None = None
        while self._newest[seat] is not played:
            await asyncio.sleep(self._think_s())
            played = self._newest[seat]  # a later one may have come while the bot thought
            await self._play(played)
