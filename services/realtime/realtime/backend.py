"""Requests to the other services: repeated while their outcome is unknown.

Every command the gateway sends is idempotent by ids that are in it, so repeating is safe, and a
service that is being replaced is not an error its players should see.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import TypeVar

import msgspec
import nats.errors

from realtime import metrics
from shared import errors
from shared.bus import Bus, Subscription
from shared.bus.requester import Requester
from shared.contracts.base import Command, Message
from shared.contracts.engine import ACT, ActReply, ActRequest

Q = TypeVar("Q", bound=Message | msgspec.Struct)
R = TypeVar("R", bound=Message | msgspec.Struct)
OnActed = Callable[[int | errors.AppError], None]

BACKOFF_MIN_S = 0.05
BACKOFF_MAX_S = 0.5
INTERNAL_PATIENCE_S = 1.0  # a bug seldom goes away by itself

_encode = msgspec.json.Encoder().encode
_decode_reply = msgspec.json.Decoder(ActReply).decode


class Backend:
    """Calls commands of other services."""

    def __init__(self, bus: Bus, patience_s: float) -> None:
        self._bus = bus
        self._patience_s = patience_s

    async def once(self, command: Command[Q, R], request: Q) -> R:
        """Send a command once; for what cannot be repeated, or will be anyway."""
        return await self._bus.call(command, request)

    async def ask(self, command: Command[Q, R], request: Q) -> R:
        """Send a command; repeat it while nobody answers.

        Raises:
            AppError: the typed refusal, or the last unknown outcome when patience ends.
        """
        loop = asyncio.get_running_loop()
        started = loop.time()
        pause_s = BACKOFF_MIN_S
        while True:
            try:
                return await self._bus.call(command, request)
            except errors.UNKNOWN_OUTCOME as error:
                waited_s = loop.time() + pause_s - started
                if waited_s >= _patience_s(error, self._patience_s):
                    raise
                metrics.REPEATED.inc()
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, BACKOFF_MAX_S)


class Moves:
    """Sends the moves of players to the engine, without a task for each.

    Attributes:
        under_way: Moves without an outcome.
    """

    def __init__(self, requester: Requester, patience_s: float) -> None:
        self.requester = requester
        self.patience_s = patience_s
        self.loop = asyncio.get_running_loop()
        self.under_way = 0

    def act(self, request: ActRequest, on_acted: OnActed) -> None:
        """Send a move; ``on_acted`` gets the new sequence, the refusal or the unknown outcome."""
        move = _Move(self, _encode(request), on_acted)
        self.under_way += 1
        move.send()

    async def act_and_wait(self, request: ActRequest) -> int:
        """Send a move and return the new sequence.

        Raises:
            AppError: the engine's refusal, or Timeout, Unavailable, Internal (outcome unknown).
        """
        acted: asyncio.Future[int | errors.AppError] = self.loop.create_future()

        def on_acted(outcome: int | errors.AppError) -> None:
            if not acted.done():
                acted.set_result(outcome)

        self.act(request, on_acted)
        outcome = await acted
        if isinstance(outcome, errors.AppError):
            raise outcome
        return outcome

    async def stop(self) -> None:
        await self.requester.stop()


class _Move:
    """One move on its way: the same bytes, and so the same ids, until there is an outcome."""

    __slots__ = ("_data", "_moves", "_on_acted", "_pause_s", "_started")

    def __init__(self, moves: Moves, data: bytes, on_acted: OnActed) -> None:
        self._moves = moves
        self._data = data
        self._on_acted = on_acted
        self._pause_s = BACKOFF_MIN_S
        self._started = moves.loop.time()

    def send(self) -> None:
        self._moves.requester.send(ACT, self._data, self._on_reply)

    def _on_reply(self, reply: bytes | errors.AppError) -> None:
        if not isinstance(reply, errors.AppError):
            try:
                self._finish(_decode_reply(reply).sequence)
            except msgspec.DecodeError:
                self._finish(errors.Internal())
        elif isinstance(reply, errors.UNKNOWN_OUTCOME) and self._may_repeat(reply):
            metrics.REPEATED.inc()
            self._moves.loop.call_later(self._pause_s, self.send)
            self._pause_s = min(self._pause_s * 2, BACKOFF_MAX_S)
        else:
            self._finish(reply)

    def _finish(self, outcome: int | errors.AppError) -> None:
        self._moves.under_way -= 1
        self._on_acted(outcome)

    def _may_repeat(self, error: errors.AppError) -> bool:
        waited_s = self._moves.loop.time() + self._pause_s - self._started
        return waited_s < _patience_s(error, self._moves.patience_s)


async def unsubscribe(subscription: Subscription) -> None:
    """End a subscription; one that ended with its connection is no matter."""
    with contextlib.suppress(nats.errors.Error):
        await subscription.stop()


def _patience_s(error: errors.AppError, patience_s: float) -> float:
    return (
        min(patience_s, INTERNAL_PATIENCE_S) if isinstance(error, errors.Internal) else patience_s
    )
