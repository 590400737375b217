"""The native wire: ``/ws``, one JSON object a message (protocol §1), on picows callbacks."""

import asyncio
import logging
import socket
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import parse_qs

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

from realtime.connection import Connection
from realtime.strangers import Proxies
from realtime.wire import (
    ABUSE,
    BROKEN,
    INTERNAL,
    NORMAL,
    NOT_TEXT,
    SLOW,
    TOO_LARGE,
    UNSUPPORTED,
    Credentials,
    Ticket,
    Token,
    Wire,
)

PATH = "/ws"
LINGER_S = 3.0  # for the peer to read what is buffered and to answer the close frame
# Between the limit of a message and this, a message is answered; above it, the socket is closed.
MAX_FRAME_BYTES = 128 * 1024
MAX_PARTS = 64  # frames of one message
READ_BUFFER_BYTES = 2048
# The system's own buffer would take megabytes before a slow reader shows.
SEND_BUFFER_BYTES = 64 * 1024
MAX_UNSENT_AT_PING_BYTES = 64 * 1024  # who leaves more unread and pings gets no answer
BACKLOG = 1024
_TEXT, _BINARY, _CONTINUATION = WSMsgType.TEXT, WSMsgType.BINARY, WSMsgType.CONTINUATION
_CLOSE, _PING, _PONG = WSMsgType.CLOSE, WSMsgType.PING, WSMsgType.PONG

Connect = Callable[[Wire, str], Connection]

log = structlog.get_logger()
# What clients do wrong is not worth a line each; our own errors never get there.
_quiet = logging.getLogger("picows.quiet")
_quiet.setLevel(logging.CRITICAL + 1)


class NativeSocket(WSListener):
    """One socket of the wire."""

    def __init__(self, connect: Connect, proxies: Proxies, credentials: Credentials | None) -> None:
        self._connect = connect
        self._proxies = proxies
        self._credentials = credentials
        self._parts: list[bytes] | None = None  # of a message in several frames
        self._parts_count = 0
        self._parts_size = 0

    # --- what a connection asks for --------------------------------------------------------------

    def write(self, data: bytes) -> None:
        if not self._transport.is_close_frame_sent:  # picows sends one on errors of its own
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
        self._connection = self._connect(self, self._address())
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
        if kind == _TEXT and frame.fin and self._parts is None:
            self._receive(frame.get_payload_as_bytes())
        elif kind == _CLOSE:
            self._answer_close(transport, frame)
        elif kind == _CONTINUATION:
            # The last part makes a message, and that is counted itself.
            if frame.fin or connection.count_control_frame():
                self._add_part(frame)
        elif connection.count_control_frame():
            if kind == _PING:
                self._answer_ping(transport, frame)
            elif kind != _PONG:
                self._begin_message(frame)

    def _receive(self, data: bytes) -> None:
        if data.isascii() or _is_utf8(data):
            self._connection.receive(data)
        else:
            self._connection.close(NOT_TEXT, "not UTF-8")

    def _begin_message(self, frame: WSFrame) -> None:
        if self._parts is not None:
            self._connection.close(BROKEN, "a message within a message")
        elif frame.msg_type == _BINARY:
            self._connection.close(UNSUPPORTED, "messages are text")
        else:
            self._parts = []
            self._parts_count = self._parts_size = 0
            self._add_part(frame)

    def _add_part(self, frame: WSFrame) -> None:
        parts = self._parts
        if parts is None:
            self._connection.close(BROKEN, "nothing to continue")
            return
        self._parts_count += 1
        self._parts_size += frame.payload_size
        if self._parts_size > MAX_FRAME_BYTES:
            self._connection.close(TOO_LARGE, "too large")
        elif self._parts_count > MAX_PARTS:
            self._connection.close(ABUSE, "too many parts")
        elif frame.fin:
            self._parts = None
            self._receive(b"".join((*parts, frame.get_payload_as_bytes())))
        elif frame.payload_size:
            parts.append(frame.get_payload_as_bytes())

    def _answer_ping(self, transport: WSTransport, frame: WSFrame) -> None:
        if self._unsent() > MAX_UNSENT_AT_PING_BYTES:
            self._connection.close(SLOW, "too slow")
        else:
            transport.send_pong(frame.get_payload_as_bytes())

    def _answer_close(self, transport: WSTransport, frame: WSFrame) -> None:
        self.close(int(frame.get_close_code()) or NORMAL, "")  # type: ignore[call-overload]
        self._connection.gone()
        transport.disconnect()

    def _address(self) -> str:
        peer = self._transport.underlying_transport.get_extra_info("peername")
        forwarded = self._transport.request.headers.getall("x-forwarded-for", [])
        return self._proxies.client_of(peer[0] if peer else None, forwarded)


class NativeWire:
    """The listening side: who may open a socket at all."""

    def __init__(
        self,
        connect: Connect,
        origins: frozenset[str],
        proxies: Proxies,
        is_accepting: Callable[[], bool],
    ) -> None:
        self._connect = connect
        self._origins = origins
        self._proxies = proxies
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
            enable_auto_pong=False,  # it would buffer without bound for who does not read
        )

    def stop(self) -> None:
        """Stop listening; sockets that are open stay so."""
        if self._server is not None:
            self._server.close()

    def _accept(self, request: WSUpgradeRequest) -> NativeSocket | WSUpgradeResponseWithListener:
        path, _, query = request.path.decode("ascii", "replace").partition("?")
        origin = request.headers.get("origin")
        if path != PATH:
            return _refuse(HTTPStatus.NOT_FOUND, b"not found")
        if origin is not None and origin.rstrip("/") not in self._origins:
            return _refuse(HTTPStatus.FORBIDDEN, b"origin not allowed")
        if not self._is_accepting():
            return _refuse(HTTPStatus.SERVICE_UNAVAILABLE, b"not ready")
        _normalise(request)
        return NativeSocket(self._connect, self._proxies, _credentials(query, request))


def _credentials(query: str, request: WSUpgradeRequest) -> Credentials | None:
    ticket = parse_qs(query).get("ticket")
    if ticket:
        return Ticket(ticket[0])
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return Token(token.strip(), by_frame=False)
    return None


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _normalise(request: WSUpgradeRequest) -> None:
    """Browsers may send ``Connection: keep-alive, Upgrade``; picows wants the one word."""
    tokens = [token.strip().lower() for token in request.headers.get("connection", "").split(",")]
    if "upgrade" in tokens:
        request.headers["connection"] = "upgrade"


def _refuse(status: HTTPStatus, body: bytes) -> WSUpgradeResponseWithListener:
    return WSUpgradeResponseWithListener(
        WSUpgradeResponse.create_error_response(status, body), None
    )
