"""The NATS connection of a service: call commands, serve them, push and watch.

A typed refusal arrives as the ``AppError`` that the owner raised. A timeout, a missing responder or
ERR_INTERNAL mean that the outcome is unknown (``shared.errors.UNKNOWN_OUTCOME``).
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import nats
import nats.errors
import nats.micro
import structlog
from nats.aio.msg import Msg
from nats.micro.request import ERROR_CODE_HEADER, ERROR_HEADER

from shared import errors, metrics, telemetry
from shared.bus.direct import DirectClient, Headers, not_called
from shared.contracts.base import Command, Message, Push, decode, encode

Q = TypeVar("Q", bound=Message | msgspec.Struct)
R = TypeVar("R", bound=Message | msgspec.Struct)
Handler = Callable[[Q], Awaitable[R]]
PushHandler = Callable[[str, bytes], Awaitable[None]]

TIMEOUT_HEADER = "Samovar-Timeout-Ms"
MAX_RUNNING_REQUESTS = 512  # per process; more are refused at once with ERR_UNAVAILABLE
FLUSH_S = 2
PENDING_BYTES = 8 * 1024 * 1024  # what is buffered while NATS is away

log = structlog.get_logger()


class _ErrorBody(msgspec.Struct):
    code: str
    message: str
    details: dict[str, Any] = {}


@dataclass(slots=True)
class Incoming:
    """A request that is answered later."""

    data: bytes
    reply_to: str
    headers: Headers
    client: DirectClient

    async def reply(self, message: Message | msgspec.Struct) -> None:
        """Answer. One who cannot be reached hears nothing, and repeats the request."""
        self.client.post(self.reply_to, encode(message))

    async def refuse(self, error: errors.AppError) -> None:
        """Answer with an error code; its text and details go to the caller."""
        body = _ErrorBody(error.code, str(error), error.details)
        with contextlib.suppress(nats.errors.Error):
            await self.client.publish(
                self.reply_to,
                msgspec.json.encode(body),
                headers={ERROR_CODE_HEADER: str(error.http_status), ERROR_HEADER: error.code},
            )


@dataclass(slots=True)
class Subscription:
    """A running watch of a push."""

    inner: Any
    client: DirectClient

    async def stop(self) -> None:
        await self.client.unsubscribe_direct(self.inner)


class Bus:
    """One NATS connection. Make it with ``connect``; end it with ``drain``."""

    def __init__(self, client: DirectClient, name: str) -> None:
        self.client = client
        self.name = name
        self.on_reconnect: list[Callable[[], Awaitable[None]]] = []
        self._service: Any = None
        self._running: set[asyncio.Task[None]] = set()

    @classmethod
    async def connect(
        cls, url: str, *, user: str, password: str, name: str | None = None, patience_s: float = 30
    ) -> "Bus":
        """Connect, and keep reconnecting for ever after the first success.

        Raises:
            TimeoutError: if no connection came about within ``patience_s``.
            nats.errors.Error: if the server refuses us for good.
        """
        client = DirectClient()
        bus = cls(client, name or user)
        async with asyncio.timeout(patience_s):
            # Reconnecting for ever, the client also waits for a server that is still to come.
            await client.connect(
                url,
                user=user,
                password=password,
                name=bus.name,
                inbox_prefix=f"_INBOX_{user}".encode(),
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.2,  # type: ignore[arg-type]  # seconds; a float works
                connect_timeout=2,
                pending_size=PENDING_BYTES,
                error_cb=bus._on_error,
                disconnected_cb=bus._on_disconnect,
                reconnected_cb=bus._on_reconnect,
            )
        return bus

    @property
    def is_connected(self) -> bool:
        return bool(self.client.is_connected)

    # --- calling ---------------------------------------------------------------------------------

    async def call(
        self, command: Command[Q, R], request: Q, *, timeout_s: float | None = None
    ) -> R:
        """Send a command and wait for its reply.

        Raises:
            AppError: the typed refusal; Timeout, Unavailable or Internal when the outcome is
                unknown and the same request (same ids) should be repeated.
        """
        headers = telemetry.inject_trace()
        if timeout_s is not None:
            headers = {**(headers or {}), TIMEOUT_HEADER: str(int(timeout_s * 1000))}
        try:
            msg = await self.client.request(
                command.subject,
                encode(request),
                timeout=timeout_s or command.timeout_s,
                headers=headers,
            )
        except nats.errors.NoRespondersError as error:
            raise errors.Unavailable(f"{command.owner} does not answer") from error
        except nats.errors.TimeoutError as error:
            raise errors.Timeout(f"{command.owner} did not answer in time") from error
        except nats.errors.Error as error:
            raise errors.Unavailable("the message bus is not reachable") from error
        if msg.headers and ERROR_HEADER in msg.headers:
            raise declared(command, to_error(msg.data))
        try:
            return decode(command.reply, msg.data)
        except errors.InvalidRequest as error:
            # The command took effect, whatever newer or older code says about it.
            log.error("reply not understood", subject=command.subject)
            raise errors.Internal from error

    # --- serving ---------------------------------------------------------------------------------

    async def serve(self, command: Command[Q, R], handler: Handler[Q, R]) -> None:
        """Answer a command with ``handler``: bounded tasks, typed refusals, ERR_INTERNAL else."""

        async def run(incoming: Incoming) -> None:
            started = time.perf_counter()
            code = "OK"
            try:
                with telemetry.span(command.subject, incoming.headers):
                    async with asyncio.timeout(_budget_s(command, incoming.headers)):
                        request = decode(command.request, incoming.data)
                        reply = await handler(request)
                await incoming.reply(reply)
            except errors.AppError as error:
                code = error.code
                await incoming.refuse(error)
            except TimeoutError:
                code = errors.Timeout.code
                await incoming.refuse(errors.Timeout())
            except Exception:
                code = errors.Internal.code
                log.exception("handler failed", subject=command.subject)
                await incoming.refuse(errors.Internal())
            finally:
                metrics.RPC_SECONDS.labels(command.name, code).observe(
                    time.perf_counter() - started
                )

        def accept(incoming: Incoming) -> None:
            is_flood = len(self._running) >= MAX_RUNNING_REQUESTS
            work = incoming.refuse(errors.Unavailable()) if is_flood else run(incoming)
            task = asyncio.create_task(work)
            self._running.add(task)
            task.add_done_callback(self._running.discard)

        await self.serve_deferred(command, accept)

    async def announce(self) -> None:
        """Be found by ``answers``; serving a command does this too."""
        if self._service is None:
            self._service = await nats.micro.add_service(
                self.client, name=self.name, version="1.0.0"
            )

    async def answers(self, service: str, timeout_s: float) -> bool:
        """Tell whether at least one replica of a service answers within the time."""
        try:
            await self.client.request(f"$SRV.PING.{service}", b"", timeout=timeout_s)
        except (nats.errors.Error, OSError):
            return False
        return True

    async def serve_deferred(
        self, command: Command[Q, R], accept: Callable[[Incoming], None]
    ) -> None:
        """Hand every request to ``accept``, which must return at once and answer later."""
        await self.announce()

        def on_message(_: str, reply: str, data: bytes, headers: Headers) -> None:
            endpoint._num_requests += 1  # what micro counts on its own way
            accept(Incoming(data, reply, headers, self.client))

        await self._service.add_endpoint(
            name=command.name,
            subject=command.subject,
            queue_group=command.owner,
            handler=not_called,
        )
        endpoint = self._service._endpoints[-1]
        self.client.make_direct(endpoint._subscription, on_message)

    # --- pushes ----------------------------------------------------------------------------------

    async def push(self, push: Push, key: object, payload: bytes) -> None:
        """Send a push, at most once; never fails for want of receivers."""
        if not self.client.post(push.subject(key), payload):
            metrics.PUSHES_LOST.inc()  # receivers repair by sequence

    async def watch(self, push: Push, key: object | None, handler: PushHandler) -> Subscription:
        """Call ``handler(key, payload)`` for every push with this key (None: any key).

        Handlers of one subscription run one at a time, in order of arrival.
        """
        subject = push.pattern if key is None else push.subject(key)
        return await self._watch(subject, "", handler)

    async def watch_shared(self, push: Push, group: str, handler: PushHandler) -> Subscription:
        """Like ``watch`` for any key, but each push goes to one member of the group only."""
        return await self._watch(push.pattern, group, handler)

    async def watch_now(
        self, push: Push, key: object, handler: Callable[[bytes], None]
    ) -> Subscription:
        """Like ``watch``, for a handler that returns at once: it runs in the read loop."""

        def on_message(_subject: str, _reply: str, data: bytes, _headers: Headers) -> None:
            handler(data)

        inner = await self.client.subscribe_direct(push.subject(key), on_message)
        return Subscription(inner, self.client)

    async def _watch(self, subject: str, queue: str, handler: PushHandler) -> Subscription:
        async def on_message(msg: Msg) -> None:
            await handler(msg.subject.rpartition(".")[2], bytes(msg.data))

        inner = await self.client.subscribe(subject, queue=queue, cb=on_message)
        return Subscription(inner, self.client)

    # --- end -------------------------------------------------------------------------------------

    async def stop_serving(self) -> None:
        """Take no new requests; those that the server sent before are still accepted."""
        if self._service is not None:
            await self._service.stop()
            self._service = None
            if self.client.is_connected:
                with contextlib.suppress(nats.errors.Error, TimeoutError):
                    await self.client.flush(FLUSH_S)

    async def drain(self, timeout_s: float = 5.0) -> None:
        """Stop serving, let running requests answer, flush, close."""
        await self.stop_serving()
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=timeout_s)
            for task in late:
                task.cancel()  # its caller hears nothing and repeats the request
            await asyncio.gather(*late, return_exceptions=True)
        try:
            if self.client.is_connected:
                await asyncio.wait_for(self.client.drain(), timeout_s)
            elif not self.client.is_closed:
                await self.client.close()
        except (nats.errors.Error, OSError, TimeoutError) as error:
            log.warning("nats connection did not end cleanly", error=repr(error))

    async def _on_error(self, error: Exception) -> None:
        if "permissions violation" in str(error).lower():
            # A denied request looks like a timeout to its caller; here it gets its name.
            metrics.BUS_DENIED.inc()
            log.error("permission denied by NATS", error=str(error))
        elif isinstance(error, nats.errors.SlowConsumerError):
            metrics.BUS_SLOW.inc()
            await self._notify_reconnect()
        else:
            log.warning("nats", error=repr(error))

    async def _on_disconnect(self) -> None:
        log.warning("nats disconnected")

    async def _on_reconnect(self) -> None:
        log.info("nats reconnected")
        await self._notify_reconnect()

    async def _notify_reconnect(self) -> None:
        for callback in self.on_reconnect:
            await callback()


def declared(command: Command[Any, Any], error: errors.AppError) -> errors.AppError:
    """Return a refusal that the command declares; any other error means "outcome unknown".

    A request of a wrong shape is refused before anything is done, by every command.
    """
    if isinstance(error, (*command.errors, *errors.UNKNOWN_OUTCOME, errors.InvalidRequest)):
        return error
    log.error("refusal not declared", subject=command.subject, code=error.code)
    return errors.Internal()


def _budget_s(command: Command[Any, Any], headers: Headers) -> float:
    if headers and TIMEOUT_HEADER in headers:
        return int(headers[TIMEOUT_HEADER]) / 1000
    return command.timeout_s


def to_error(data: bytes) -> errors.AppError:
    """Read the body of an error reply."""
    try:
        body = msgspec.json.decode(data, type=_ErrorBody)
    except msgspec.DecodeError:
        return errors.Internal()
    return errors.from_code(body.code, body.message, **body.details)
