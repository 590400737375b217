"""A NATS client with a short way in and out, for the messages of moves.

nats-py gives every message a header parse, an object, a queue and a switch of tasks, which together
cost more than the rules of a move. Here a message may go straight from the read loop to a plain
function, and be sent without becoming a coroutine. Messages that the server sent before it heard
of an unsubscription are handled too. Both ways stand on private parts of nats-py, whose version is
pinned; ``shared/tests/integration/test_bus.py`` would show a change.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import structlog
from nats.aio.client import Client
from typing_extensions import override

Headers: TypeAlias = Mapping[str, str] | None
OnMessage: TypeAlias = Callable[[str, str, bytes, Headers], None]  # subject, reply, data, headers

log = structlog.get_logger()


class DirectClient(Client):
    """Messages of a direct subscription are handled in order of arrival."""

    def __init__(self) -> None:
        super().__init__()
        self._direct: dict[int, OnMessage] = {}

    async def subscribe_direct(
        self, subject: str, on_message: OnMessage, *, queue: str = ""
    ) -> Any:
        """Call a function for every message; it must return at once and should not raise."""
        subscription = await self.subscribe(subject, queue=queue, cb=not_called)
        self.make_direct(subscription, on_message)
        return subscription

    def make_direct(self, subscription: Any, on_message: OnMessage) -> None:
        """Take the short way from now on, instead of the subscription's callback."""
        self._direct[subscription._id] = on_message

    async def unsubscribe_direct(self, subscription: Any) -> None:
        """End a subscription; one that has ended already is no error."""
        self._direct.pop(subscription._id, None)
        if not self.is_closed:
            await subscription.unsubscribe()

    def post(self, subject: str, data: bytes, reply: str = "") -> bool:
        """Send a message with the next flush; false if it cannot be (closed, too much waits)."""
        if (
            self.is_closed
            or len(data) > self._max_payload
            or self._pending_data_size > self._max_pending_size
        ):
            return False
        line = f"PUB {subject} {reply} {len(data)}\r\n".encode()
        message = b"".join((line, data, b"\r\n"))
        self._pending.append(message)
        self._pending_data_size += len(message)
        self.stats["out_msgs"] += 1
        self.stats["out_bytes"] += len(data)
        # What waits while there is no connection leaves with the next one.
        flushes = self._flush_queue
        if self.is_connected and flushes is not None and flushes.empty():
            flushes.put_nowait(asyncio.get_running_loop().create_future())
        return True

    @override
    async def _process_msg(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes
    ) -> None:  # headers: None if there are none, whatever nats-py's annotation says
        on_message = self._direct.get(sid)
        if on_message is None:
            await super()._process_msg(sid, subject, reply, data, headers)
            return
        self.stats["in_msgs"] += 1
        self.stats["in_bytes"] += len(data)
        parsed = await self._process_headers(headers) if headers else None
        try:
            on_message(subject.decode(), reply.decode(), data, parsed)
        except Exception:  # the read loop serves everybody
            log.exception("message handler failed", subject=subject.decode())


async def not_called(_: Any) -> None:
    """Stand where nats-py wants a callback; direct subscriptions have none."""
