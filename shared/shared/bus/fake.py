"""An in-memory bus for unit tests: same interface, and the faults of the real one on demand."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from shared import errors
from shared.bus.client import declared
from shared.contracts.base import Command, Message, Push, decode, encode

Q = TypeVar("Q", bound=Message | msgspec.Struct)
R = TypeVar("R", bound=Message | msgspec.Struct)


class FakeBus:
    """Calls handlers in this process, through the codec, so that wrong shapes are found.

    Attributes:
        lose_requests: Subjects whose next requests vanish (the handler does not run).
        lose_replies: Subjects whose next replies vanish (the handler did run).
        pushed: Every push: (subject, payload).
    """

    def __init__(self) -> None:
        self._handlers: dict[str, Callable[[Any], Awaitable[Any]]] = {}
        self.lose_requests: list[str] = []
        self.lose_replies: list[str] = []
        self.pushed: list[tuple[str, bytes]] = []

    async def serve(self, command: Command[Q, R], handler: Callable[[Q], Awaitable[R]]) -> None:
        self._handlers[command.subject] = handler

    async def call(
        self, command: Command[Q, R], request: Q, *, timeout_s: float | None = None
    ) -> R:
        subject = command.subject
        handler = self._handlers.get(subject)
        if handler is None:
            raise errors.Unavailable(f"{command.owner} does not answer")
        if subject in self.lose_requests:
            self.lose_requests.remove(subject)
            raise errors.Timeout
        try:
            reply = await handler(decode(command.request, encode(request)))
        except errors.AppError as error:
            raise declared(command, error) from error
        if subject in self.lose_replies:
            self.lose_replies.remove(subject)
            raise errors.Timeout
        return decode(command.reply, encode(reply))

    async def push(self, push: Push, key: object, payload: bytes) -> None:
        self.pushed.append((push.subject(key), payload))
