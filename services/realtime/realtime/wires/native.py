"""The native wire: ``/ws``, one JSON object a message (protocol §1), on picows callbacks."""

import asyncio
import logging
import socket
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

import structlog
from picows import (
    WSAutoPingStrategy,
    WSFrame,
    WSListener,
    WSMsgType,
    WSTransport,
    WSUpgradeRequest,
    WSUpgradeResponse,
    WSUpgradeResponseWithListener,
    ws_create_server,
)
from typing_extensions import override

from realtime.connection import INTERNAL, Connection, Credentials, Ticket, Token, Wire

PATH = "/ws"
LINGER_S = 3.0  # for the peer to read what is buffered and to answer the close frame
# Between the limit of a message and this, a message is answered; above it, the socket is closed.
MAX_FRAME_BYTES = 128 * 1024
READ_BUFFER_BYTES = 2048
# The system's own buffer would take megabytes before a slow reader shows.
SEND_BUFFER_BYTES = 64 * 1024
BACKLOG = 1024
_DATA = (WSMsgType.TEXT, WSMsgType.BINARY)

Connect = Callable[[Wire], Connection]

log = structlog.get_logger()
# What clients do wrong is not worth a line each; our own errors never get there.
_quiet = logging.getLogger("picows.quiet")
_quiet.setLevel(logging.CRITICAL + 1)


class NativeSocket(WSListener):
    """One socket of the wire."""

    def __init__(self, connect: Connect, credentials: Credentials | None) -> None:
        self._connect = connect
        self._credentials = credentials
        self._max_message = MAX_FRAME_BYTES
        self._parts: list[bytes] | None = None  # of a message in several frames
        self._parts_size = 0

    # --- what a connection asks for --------------------------------------------------------------

    def write(self, data: bytes) -> None:
        self._write(data)

    def unsent(self) -> int:
        return int(self._unsent())

    def close(self, code: int, reason: str) -> None:
        self._transport.send_close(
            code,  # type: ignore[arg-type]  # any 16-bit code
            reason.encode(),
        )
        asyncio.get_running_loop().call_later(LINGER_S, self.abort)

    def ping(self) -> None:
        self._transport.send_ping()

    def abort(self) -> None:
        self._transport.disconnect(graceful=False)

    # --- picows ----------------------------------------------------------------------------------

    @override
    def on_ws_connected(self, transport: WSTransport) -> None:
        self._transport = transport
        self._write = transport.underlying_transport.write
        self._unsent = transport.underlying_transport.get_write_buffer_size
        self._connection = self._connect(self)
        self._connection.start(self._credentials)

    @override
    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        try:
            self._on_frame(transport, frame)
        except Exception:
            log.exception("a message broke its handler")
            self._connection.close(INTERNAL, "internal error")

    @override
    def on_ws_disconnected(self, transport: WSTransport) -> None:
        self._connection.gone()

    @override
    def pause_writing(self) -> None:
        """The bound of the send queue is checked at every write."""

    @override
    def resume_writing(self) -> None:
        """See ``pause_writing``."""

    def _on_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        connection = self._connection
        connection.silent = 0
        kind = frame.msg_type
        if kind in _DATA:
            if frame.fin:
                connection.receive(frame.get_payload_as_bytes())
            else:
                self._parts = []
                self._parts_size = 0
                self._add_part(frame)
        elif kind == WSMsgType.CONTINUATION:
            self._add_part(frame)
        elif kind == WSMsgType.CLOSE:
            transport.send_close(frame.get_close_code(), b"")
            transport.disconnect()

    def _add_part(self, frame: WSFrame) -> None:
        if self._parts is None:
            return
        self._parts_size += frame.payload_size
        if self._parts_size <= self._max_message:
            self._parts.append(frame.get_payload_as_bytes())
        if frame.fin:
            parts, self._parts = self._parts, None
            if self._parts_size <= self._max_message:
                self._connection.receive(b"".join(parts))
            else:
                self._connection.too_large()


class NativeWire:
    """The listening side: who may open a socket at all."""

    def __init__(
        self, connect: Connect, origins: frozenset[str], is_accepting: Callable[[], bool]
    ) -> None:
        self._connect = connect
        self._origins = origins
        self._is_accepting = is_accepting
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> None:
        """Listen; handshakes are answered with 503 until the gateway accepts."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=BACKLOG)
        listening.setblocking(False)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        self._server = await ws_create_server(
            self._accept,
            sock=listening,
            backlog=BACKLOG,
            logger_name=_quiet,
            max_frame_size=MAX_FRAME_BYTES,
            read_buffer_init_size=READ_BUFFER_BYTES,
            auto_ping_strategy=WSAutoPingStrategy.PING_WHEN_IDLE,
        )

    def stop(self) -> None:
        """Stop listening; sockets that are open stay so."""
        if self._server is not None:
            self._server.close()

    def _accept(self, request: WSUpgradeRequest) -> NativeSocket | WSUpgradeResponseWithListener:
        target = urlsplit(request.path.decode("ascii", "replace"))
        origin = request.headers.get("origin")
        if target.path != PATH:
            return _refuse(HTTPStatus.NOT_FOUND, b"not found")
        if origin is not None and origin.rstrip("/") not in self._origins:
            return _refuse(HTTPStatus.FORBIDDEN, b"origin not allowed")
        if not self._is_accepting():
            return _refuse(HTTPStatus.SERVICE_UNAVAILABLE, b"not ready")
        _normalise(request)
        return NativeSocket(self._connect, _credentials(target.query, request))


def _credentials(query: str, request: WSUpgradeRequest) -> Credentials | None:
    ticket = parse_qs(query).get("ticket")
    if ticket:
        return Ticket(ticket[0])
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return Token(token.strip(), by_frame=False)
    return None


def _normalise(request: WSUpgradeRequest) -> None:
    """Browsers may send ``Connection: keep-alive, Upgrade``; picows wants the one word."""
    tokens = [token.strip().lower() for token in request.headers.get("connection", "").split(",")]
    if "upgrade" in tokens:
        request.headers["connection"] = "upgrade"


def _refuse(status: HTTPStatus, body: bytes) -> WSUpgradeResponseWithListener:
    return WSUpgradeResponseWithListener(
        WSUpgradeResponse.create_error_response(status, body), None
    )
