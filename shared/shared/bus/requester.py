"""Many small requests over one inbox: ``Bus.call`` without a task, a future and a timer for each.

A gateway sends one request for every move of every player. Here a request is one entry in a dict
and one line in the write buffer, and its reply is one plain function call (see
``direct``). The trace headers of ``Bus.call`` are left out.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog
from nats.micro.request import ERROR_HEADER

from shared import errors
from shared.bus.client import Bus, to_error
from shared.bus.direct import Headers
from shared.contracts.base import Command

OnReply = Callable[[bytes | errors.AppError], None]

SWEEP_S = 0.1
MAX_OUTSTANDING = 20_000
_NO_RESPONDERS = "503"
_STATUS = "Status"

log = structlog.get_logger()


@dataclass(slots=True)
class _Outstanding:
    on_reply: OnReply
    deadline: float


class Requester:
    """Sends requests that all have the same patience; make it with ``start``."""

    def __init__(self, bus: Bus, timeout_s: float) -> None:
        self._client = bus.client
        self._timeout_s = timeout_s
        self._loop = asyncio.get_running_loop()
        self._inbox = self._client.new_inbox()  # below the user's own inbox prefix
        self._token_at = len(self._inbox) + 1
        self._count = 0
        # In order of sending, and so of deadline.
        self._outstanding: dict[str, _Outstanding] = {}
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._subscription: Any = None

    @classmethod
    async def start(cls, bus: Bus, *, timeout_s: float) -> "Requester":
        requester = cls(bus, timeout_s)
        requester._subscription = await bus.client.subscribe_direct(
            f"{requester._inbox}.*", requester._on_message
        )
        return requester

    @property
    def outstanding(self) -> int:
        return len(self._outstanding)

    def send(self, command: Command[Any, Any], request: bytes, on_reply: OnReply) -> None:
        """Send an encoded request; ``on_reply`` is called once, with the encoded reply or an error.

        The error is the typed refusal, or Timeout or Unavailable (outcome unknown). It may come
        before this function returns.
        """
        client = self._client
        if not client.is_connected or len(self._outstanding) >= MAX_OUTSTANDING:
            on_reply(errors.Unavailable())
            return
        self._count += 1
        token = str(self._count)
        self._outstanding[token] = _Outstanding(on_reply, self._loop.time() + self._timeout_s)
        if self._sweep_timer is None:
            self._sweep_timer = self._loop.call_later(SWEEP_S, self._sweep)
        client.post(command.subject, request, f"{self._inbox}.{token}")

    async def stop(self) -> None:
        """Forget what is outstanding; nobody is called any more."""
        self._outstanding.clear()
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
            self._sweep_timer = None
        if self._subscription is not None:
            await self._client.unsubscribe_direct(self._subscription)

    def _on_message(self, subject: str, _reply: str, data: bytes, headers: Headers) -> None:
        found = self._outstanding.pop(subject[self._token_at :], None)
        if found is None:
            return  # came after its time
        if headers is None:
            found.on_reply(data)
        elif ERROR_HEADER in headers:
            found.on_reply(to_error(data))
        elif headers.get(_STATUS) == _NO_RESPONDERS:
            found.on_reply(errors.Unavailable("no responders"))
        else:
            found.on_reply(data)

    def _sweep(self) -> None:
        now = self._loop.time()
        while self._outstanding:
            token, oldest = next(iter(self._outstanding.items()))
            if oldest.deadline > now:
                break
            del self._outstanding[token]
            try:
                oldest.on_reply(errors.Timeout())
            except Exception:  # one caller's bug must not keep the others waiting
                log.exception("callback of a request failed")
        self._sweep_timer = (
            self._loop.call_later(SWEEP_S, self._sweep) if self._outstanding else None
        )
