"""A connection over a socket that takes as much as the test lets it."""

import asyncio
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from websockets.protocol import CLIENT, Protocol

from realtime.connection import Connection, Gateway, State
from realtime.hub import Hub
from realtime.limits import PlayerMeters, new_session
from realtime.settings import Settings
from realtime.strangers import Strangers
from realtime.wire import Credentials, Ticket, Token
from shared.contracts.auth import Identity, Role
from shared.contracts.realtime import ClientFrame, frame


@dataclass
class Socket:
    """A wire that keeps what it was given; ``is_stuck``: nothing leaves the process."""

    is_stuck: bool = False
    writes: list[bytes] = field(default_factory=list)
    closed: tuple[int, str] | None = None
    pings: int = 0
    is_aborted: bool = False
    taken: int = 0

    def write(self, data: bytes) -> None:
        self.writes.append(data)
        if not self.is_stuck:
            self.taken = self.total

    @property
    def total(self) -> int:
        return sum(map(len, self.writes))

    def unsent(self) -> int:
        return self.total - self.taken

    def close(self, code: int, reason: str) -> None:
        self.closed = (code, reason)

    def ping(self) -> None:
        self.pings += 1

    def abort(self) -> None:
        self.is_aborted = True

    def frames(self) -> list[dict[str, Any]]:
        client = Protocol(CLIENT, max_size=None)
        client.receive_data(b"".join(self.writes))
        return [json.loads(bytes(f.data)) for f in client.events_received()]  # type: ignore[union-attr]


class Desk:
    """The gateway around connections: a real hub, and notes of what was asked for."""

    def __init__(self, **settings: Any) -> None:
        self.settings = Settings(
            nats_url="nats://nowhere", nats_user="realtime", nats_password="x", **settings
        )
        self.meters = PlayerMeters(self.settings)
        strangers = Strangers(
            self.settings.unauthenticated_sockets, self.settings.unauthenticated_sockets_per_address
        )
        self.hub = Hub(2, strangers, self.meters)
        self.asked: list[tuple[Credentials, UUID | None]] = []
        self.dispatched: list[ClientFrame] = []
        self.gateway = Gateway(
            self.settings,
            self.hub.mark,
            lambda _, credentials, request_id: self.asked.append((credentials, request_id)),
            lambda _, message: self.dispatched.append(message),
            self.hub.remove,  # type: ignore[arg-type]  # what it returns is not looked at
        )

    def connect(self, socket: Socket) -> Connection:
        connection = Connection(socket, self.gateway, new_session(self.settings))
        assert self.hub.arrive(connection, "192.0.2.1")
        return connection

    def let_in(self, connection: Connection, player_id: UUID | None = None) -> Identity:
        identity = Identity(
            player_id=player_id or uuid4(),
            session_id=uuid4(),
            role=Role.PLAYER,
            expires_at=datetime.now(UTC) + timedelta(minutes=10),
        )
        connection.session.authenticate(identity)
        self.hub.add(connection, identity)
        connection.opened()
        return identity

    def open(self, socket: Socket, player_id: UUID | None = None) -> Connection:
        connection = self.connect(socket)
        self.let_in(connection, player_id)
        return connection

    def flush(self) -> None:
        self.hub._flush()


async def closed(*sockets: Socket) -> None:
    """Wait until all of them are closed."""
    async with asyncio.timeout(5):
        while not all(socket.closed for socket in sockets):  # noqa: ASYNC110  # only a test
            await asyncio.sleep(0.005)


def ping() -> bytes:
    return frame("PING", request_id=uuid4())


async def test_frames_of_one_turn_of_the_loop_leave_in_one_write() -> None:
    desk, socket = Desk(), Socket()
    connection = desk.open(socket)

    for number in range(3):
        connection.send_frame(frame("NOTICE", number=number))
    assert socket.writes == []
    desk.flush()

    assert len(socket.writes) == 1
    assert [f["number"] for f in socket.frames()] == [0, 1, 2]


async def test_a_reader_with_too_many_frames_unsent_is_closed_and_others_go_on() -> None:
    desk, slow, quick = Desk(send_queue_frames=256), Socket(is_stuck=True), Socket()
    connections = [desk.open(slow), desk.open(quick)]

    for _ in range(257):
        for connection in connections:
            connection.send_frame(frame("NOTICE"))
        desk.flush()

    assert slow.closed is not None
    assert slow.closed[0] == 4408
    assert quick.closed is None
    assert len(quick.frames()) == 257


async def test_a_reader_with_too_many_bytes_unsent_is_closed() -> None:
    desk, slow = Desk(send_queue_bytes=1000), Socket(is_stuck=True)
    connection = desk.open(slow)

    connection.send_frame(frame("NOTICE", text="x" * 1000))
    desk.flush()

    assert slow.closed is not None
    assert slow.closed[0] == 4408


async def test_a_reader_who_catches_up_before_the_bound_stays() -> None:
    desk, socket = Desk(send_queue_frames=10), Socket()
    connection = desk.open(socket)

    for _ in range(5):
        socket.is_stuck = True
        for _ in range(8):
            connection.send_frame(frame("NOTICE"))
            desk.flush()
        socket.taken = socket.total - 1  # all but the end of the last frame has left

    assert socket.closed is None
    assert connection.is_open


async def test_nothing_is_written_after_the_end() -> None:
    desk, socket = Desk(), Socket()
    connection = desk.open(socket)

    connection.send_frame(frame("NOTICE", last=True))
    connection.close(1012, "restart")
    connection.send_frame(frame("NOTICE", late=True))
    desk.flush()

    assert [f.get("last") for f in socket.frames()] == [True]
    assert socket.closed == (1012, "restart")
    assert connection not in desk.hub.sockets


async def test_the_credentials_of_the_handshake_are_checked_and_messages_wait_for_it() -> None:
    desk, socket = Desk(), Socket()
    connection = desk.connect(socket)

    connection.start(Ticket("t"))
    connection.receive(ping())
    assert desk.asked == [(Ticket("t"), None)]
    assert desk.dispatched == []
    desk.let_in(connection)

    assert [message.type for message in desk.dispatched] == ["PING"]


async def test_the_first_message_must_be_auth() -> None:
    desk, socket = Desk(), Socket()
    connection = desk.connect(socket)
    connection.start(None)

    connection.receive(ping())

    assert socket.frames()[0]["code"] == "ERR_UNAUTHORIZED"
    assert socket.closed is not None
    assert socket.closed[0] == 4401


async def test_auth_hands_its_token_on() -> None:
    desk, request_id = Desk(), uuid4()
    connection = desk.connect(Socket())
    connection.start(None)

    connection.receive(frame("AUTH", request_id=request_id, payload={"access_token": "abc"}))

    assert desk.asked == [(Token("abc", by_frame=True), request_id)]
    assert connection.state is State.CHECKING


async def test_auth_without_a_token_is_a_wrong_message() -> None:
    desk, socket = Desk(), Socket()
    connection = desk.connect(socket)
    connection.start(None)

    connection.receive(frame("AUTH", payload={"token": 5}))
    desk.flush()

    assert socket.frames()[0]["code"] == "ERR_INVALID_REQUEST"
    assert connection.state is State.NEW


async def test_a_silent_peer_is_pinged_and_then_hung_up_on() -> None:
    desk, socket = Desk(), Socket()
    connection = desk.open(socket)

    for _ in range(4):
        connection.heartbeat()

    assert socket.pings == 2
    assert socket.is_aborted


async def test_a_player_s_last_socket_takes_him_off_the_register() -> None:
    desk, player_id = Desk(), uuid4()
    connections = [desk.connect(Socket()) for _ in range(2)]
    for connection in connections:
        desk.let_in(connection, player_id)

    connections[0].gone()
    assert desk.hub.is_connected(player_id)
    connections[1].gone()

    assert not desk.hub.is_connected(player_id)
    assert desk.hub.of_session(uuid4()) == []


async def test_a_check_of_credentials_that_takes_too_long_closes() -> None:
    desk = Desk(auth_deadline_s=0.01)
    sockets = [Socket(), Socket()]

    desk.connect(sockets[0]).start(Ticket("t"))
    by_frame = desk.connect(sockets[1])
    by_frame.start(None)
    by_frame.receive(frame("AUTH", payload={"access_token": "abc"}))

    await closed(*sockets)
    assert [socket.closed[0] for socket in sockets if socket.closed] == [1012, 1012]


async def test_a_socket_that_is_let_in_outlives_the_deadline_of_auth() -> None:
    desk, socket, other = Desk(auth_deadline_s=0.01), Socket(), Socket()
    connection = desk.connect(socket)
    connection.start(Ticket("t"))
    desk.let_in(connection)
    desk.connect(other).start(None)

    await closed(other)
    assert connection.is_open
