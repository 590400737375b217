"""What a socket and a player may do, and what happens when it is too much."""

from uuid import uuid4

from realtime.limits import PlayerMeters
from realtime.wire import Ticket
from services.realtime.tests.unit.test_connection import Desk, Socket, ping


async def test_messages_that_wait_for_the_check_are_bounded() -> None:
    desk, socket = Desk(), Socket()
    connection = desk.connect(socket)
    connection.start(Ticket("t"))

    for _ in range(33):
        connection.receive(ping())

    assert socket.closed is not None
    assert socket.closed[0] == 4400


async def test_a_socket_that_is_being_checked_holds_few_bytes() -> None:
    desk, socket = Desk(), Socket()
    connection = desk.connect(socket)
    connection.start(Ticket("t"))

    for _ in range(5):
        connection.receive(b"x" * 15_000)

    assert socket.closed is not None
    assert socket.closed[0] == 4400


async def test_wrong_messages_are_answered_and_too_many_close() -> None:
    desk, socket = Desk(bad_frames_per_minute=3), Socket()
    connection = desk.open(socket)

    for _ in range(3):
        connection.receive(b"{")

    assert [f["code"] for f in socket.frames()] == ["ERR_INVALID_REQUEST"] * 3
    assert socket.closed is not None
    assert socket.closed[0] == 4400


async def test_messages_over_the_limit_are_answered_and_too_many_close() -> None:
    desk, socket = Desk(commands_burst=1, refusals_per_minute=3), Socket()
    connection = desk.open(socket)

    for _ in range(4):
        connection.receive(ping())

    assert len(desk.dispatched) == 1
    assert [f["code"] for f in socket.frames()] == ["ERR_RATE_LIMITED"] * 3
    assert socket.closed is not None
    assert socket.closed[0] == 4429


async def test_the_limits_of_a_player_are_the_same_on_every_socket_of_his() -> None:
    desk, player_id = Desk(commands_burst=2, commands_per_s=0.01), uuid4()
    sockets = [Socket(), Socket()]
    connections = [desk.open(socket, player_id) for socket in sockets]

    for connection in (*connections, *connections):
        connection.receive(ping())
    desk.flush()

    assert len(desk.dispatched) == 2
    assert [f["code"] for socket in sockets for f in socket.frames()] == ["ERR_RATE_LIMITED"] * 2


async def test_coming_back_resets_no_limit() -> None:
    desk, player_id, socket = Desk(commands_burst=1, commands_per_s=0.01), uuid4(), Socket()

    first = desk.open(Socket(), player_id)
    first.receive(ping())
    first.gone()
    desk.open(socket, player_id).receive(ping())
    desk.flush()

    assert len(desk.dispatched) == 1
    assert [f["code"] for f in socket.frames()] == ["ERR_RATE_LIMITED"]


async def test_the_limits_of_players_who_are_gone_are_forgotten_in_the_end() -> None:
    meters = PlayerMeters(Desk().settings)
    gone, back = uuid4(), uuid4()
    kept = meters.take(back, 0.0)
    meters.rest(gone, meters.take(gone, 0.0), 0.0)
    meters.rest(back, kept, 59.0)

    assert meters.take(back, 118.0) is kept
    assert len(meters) == 0


async def test_too_many_frames_that_are_no_messages_close() -> None:
    desk, socket = Desk(control_frames_per_minute=3), Socket()
    connection = desk.connect(socket)
    connection.start(None)

    counted = [connection.count_control_frame() for _ in range(4)]

    assert counted == [True, True, False, False]
    assert socket.closed is not None
    assert socket.closed[0] == 4429
