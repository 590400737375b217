"""One client's connection: everything about it but the bytes of its wire.

A wire (``wires/``) makes one for each socket, hands it what the client says, and writes what it is
given. Nothing here waits: frames are collected and leave in one write per turn of the loop, and a
reader that is too slow is closed.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from uuid import UUID

import msgspec

from realtime import frames, metrics
from realtime.domain import envelope
from realtime.domain.envelope import BadFrame
from realtime.domain.session import Session, Verdict
from realtime.settings import Settings
from realtime.wire import (
    ABUSE,
    FLOOD,
    RESTART,
    SLOW,
    UNAUTHENTICATED,
    Credentials,
    Token,
    Wire,
)
from shared import errors
from shared.contracts.realtime import ClientFrame

# Of messages sent before the check of credentials is through.
MAX_WAITING, MAX_WAITING_BYTES = 32, 64 * 1024


class State(Enum):
    NEW = auto()  # waiting for AUTH
    CHECKING = auto()
    OPEN = auto()
    CLOSED = auto()


@dataclass(frozen=True, slots=True)
class Gateway:
    """What a connection calls."""

    settings: Settings
    mark: Callable[["Connection"], None]  # flush it before the loop waits again
    authenticate: Callable[["Connection", Credentials, UUID | None], None]
    dispatch: Callable[["Connection", ClientFrame], None]
    leave: Callable[["Connection"], None]


class _Auth(msgspec.Struct):
    access_token: str


class Connection:
    """A socket and its session."""

    __slots__ = (
        "_backlog", "_frames", "_gateway", "_loop", "_out", "_timer", "_waiting", "_wire",
        "_written", "games", "player_id", "running", "session", "silent", "state",
    )  # fmt: skip

    def __init__(self, wire: Wire, gateway: Gateway, session: Session) -> None:
        self._wire = wire
        self._gateway = gateway
        self._loop = asyncio.get_running_loop()
        self.session = session
        self.state = State.NEW
        self.player_id: UUID | None = None
        self.games: set[UUID] = set()  # those whose pushes it gets
        self.running = 0  # commands of this client that wait for another service
        self.silent = 0  # looks for life since it was last heard
        self._waiting: list[bytes] = []
        self._timer: asyncio.TimerHandle | None = None
        self._out: list[bytes] = []
        self._frames = 0
        self._written = 0
        self._backlog: deque[tuple[int, int]] = deque()  # (offset of the end, frames), unsent

    @property
    def is_open(self) -> bool:
        return self.state is State.OPEN

    # --- coming in -------------------------------------------------------------------------------

    def start(self, credentials: Credentials | None) -> None:
        """Begin: check what the handshake carried, or wait for AUTH."""
        if self.state is State.CLOSED:
            return
        self.set_timer(self._gateway.settings.auth_deadline_s, self._auth_is_late)
        if credentials is not None:
            self.check(credentials, None)

    def check(self, credentials: Credentials, request_id: UUID | None) -> None:
        """Have credentials checked; the client's next messages wait."""
        if self.state is State.NEW:
            self.state = State.CHECKING
        self._gateway.authenticate(self, credentials, request_id)

    def opened(self) -> None:
        """Let the client's messages through, those that wait first."""
        self.state = State.OPEN
        waiting, self._waiting = self._waiting, []
        for data in waiting:
            self.receive(data)

    def receive(self, data: bytes) -> None:
        """Take one message of the client."""
        if self.state is State.OPEN:
            self._handle(data)
        elif self.state is State.CHECKING:
            self._keep(data)
        elif self.state is State.NEW:
            self._handle_first(data)

    def count_control_frame(self) -> bool:
        """Count a frame that is no message; False if nothing is taken from the client any more."""
        if self.session.judge_control_frame(self._loop.time()) is Verdict.CLOSE:
            self.close(FLOOD, "too many frames")
        return self.state is not State.CLOSED

    def _keep(self, data: bytes) -> None:
        if len(data) > self._gateway.settings.max_frame_bytes:
            self._bad_frame(BadFrame(errors.InvalidRequest("The message is too large."), None))
            return
        size = sum(map(len, self._waiting)) + len(data)
        if len(self._waiting) >= MAX_WAITING or size > MAX_WAITING_BYTES:
            self.close(ABUSE, "too many messages")
        else:
            self._waiting.append(data)

    def _handle(self, data: bytes) -> None:
        try:
            frame = envelope.parse(data, max_bytes=self._gateway.settings.max_frame_bytes)
        except BadFrame as bad:
            self._bad_frame(bad)
            return
        verdict = self.session.judge_command(self._loop.time())
        if verdict is not Verdict.PASS:
            self.limited(frame.request_id, verdict)
            return
        metrics.COMMANDS.inc()
        if frame.type == "AUTH":
            self._auth(frame)
        else:
            self._gateway.dispatch(self, frame)

    def _handle_first(self, data: bytes) -> None:
        try:
            frame = envelope.parse(data, max_bytes=self._gateway.settings.max_frame_bytes)
        except BadFrame as bad:
            self._bad_frame(bad)
            return
        if frame.type == "AUTH":
            self._auth(frame)
        else:
            self.send_frame(frames.failed(frame.request_id, errors.Unauthorized()))
            self.close(UNAUTHENTICATED, "not authenticated")

    def _auth(self, frame: ClientFrame) -> None:
        try:
            token = msgspec.json.decode(envelope.payload_of(frame), type=_Auth).access_token
        except msgspec.DecodeError:
            self._bad_frame(BadFrame(errors.InvalidRequest(), frame.request_id))
            return
        self.check(Token(token, by_frame=True), frame.request_id)

    def _bad_frame(self, bad: BadFrame) -> None:
        metrics.BAD_FRAMES.inc()
        self.send_frame(frames.failed(bad.request_id, bad.error))
        if self.session.judge_bad_frame(self._loop.time()) is Verdict.CLOSE:
            self.close(ABUSE, "too many wrong messages")

    def limited(self, request_id: UUID | None, verdict: Verdict) -> None:
        """Answer a message over a limit."""
        metrics.REFUSED.inc()
        self.send_frame(frames.failed(request_id, errors.RateLimited()))
        if verdict is Verdict.CLOSE:
            self.close(FLOOD, "too many messages")

    # --- time ------------------------------------------------------------------------------------

    def set_timer(self, delay_s: float | None, callback: Callable[[], None] | None = None) -> None:
        """Set the one timer of the connection anew; None: none."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if delay_s is not None and callback is not None:
            self._timer = self._loop.call_later(delay_s, callback)

    def _auth_is_late(self) -> None:
        if self.state is State.NEW:
            self.close(UNAUTHENTICATED, "not authenticated")
        elif self.state is State.CHECKING:
            self.send_frame(frames.failed(None, errors.Unavailable()))
            self.close(RESTART, "credentials cannot be checked")

    def heartbeat(self) -> None:
        """Ask a silent peer for a sign of life; hang up on one that gave none twice."""
        self.silent += 1
        if self.silent > 3:
            self._wire.abort()
        elif self.silent > 1:
            self._wire.ping()

    # --- going out -------------------------------------------------------------------------------

    def send(self, data: bytes, count: int = 1) -> None:
        """Send bytes of the wire that hold ``count`` whole frames."""
        if self.state is State.CLOSED:
            return
        if not self._out:
            self._gateway.mark(self)
        self._out.append(data)
        self._frames += count

    def send_frame(self, frame: bytes) -> None:
        """Send one client frame."""
        self.send(frames.on_wire(frame))

    def flush(self) -> None:
        """Write what was collected, in one write; close the connection if it is too slow."""
        if self.state is State.CLOSED or not self._out:
            return
        out = self._out
        data = out[0] if len(out) == 1 else b"".join(out)
        count, self._frames, self._out = self._frames, 0, []
        self._written += len(data)
        self._wire.write(data)
        unsent = self._wire.unsent()
        if unsent:
            self._backlog.append((self._written, count))
            self._judge_backlog(unsent)
        elif self._backlog:
            self._backlog.clear()

    def _judge_backlog(self, unsent: int) -> None:
        sent = self._written - unsent
        while self._backlog and self._backlog[0][0] <= sent:
            self._backlog.popleft()
        settings = self._gateway.settings
        waiting = sum(count for _, count in self._backlog)
        if unsent > settings.send_queue_bytes or waiting > settings.send_queue_frames:
            self.close(SLOW, "too slow")

    # --- end -------------------------------------------------------------------------------------

    def close(self, code: int, reason: str) -> None:
        """Send what was collected and a close frame; nothing goes in or out any more."""
        if self.state is State.CLOSED:
            return
        metrics.CLOSED.labels(str(code)).inc()
        if self._out and code != SLOW:
            self._wire.write(b"".join(self._out))
        self._wire.close(code, reason)
        self.gone()

    def gone(self) -> None:
        """Note that the socket is gone, or as good as gone."""
        if self.state is State.CLOSED:
            return
        self._out = []
        self._waiting = []
        self.set_timer(None)
        self.state = State.CLOSED
        self._gateway.leave(self)
