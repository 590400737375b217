"""What the wire answers to frames that RFC 6455 or our protocol does not allow, or that flood."""

import asyncio

import pytest
from websockets.frames import Frame, Opcode

from services.realtime.tests.integration.raw import Raw
from services.realtime.tests.integration.test_games import at_table
from services.realtime.tests.integration.world import World
from shared.contracts.realtime import frame

PING = Frame(Opcode.PING, b"x" * 125)
MESSAGE = frame("PING")
KIB = 1024


def text(data: bytes = MESSAGE, *, fin: bool = True) -> Frame:
    return Frame(Opcode.TEXT, data, fin)


def part(data: bytes = b"", *, fin: bool = False) -> Frame:
    return Frame(Opcode.CONT, data, fin)


WRONG: list[tuple[list[Frame], int]] = [
    ([Frame(Opcode.BINARY, MESSAGE)], 1003),
    ([Frame(Opcode.BINARY, MESSAGE, fin=False)], 1003),
    ([text(b"{", fin=False), text()], 1002),
    ([text(b"{", fin=False), Frame(Opcode.BINARY, MESSAGE)], 1002),
    ([part(MESSAGE, fin=True)], 1002),
    ([part(MESSAGE)], 1002),
    ([text(b'{"type":"PING","version":1,"x":"\xff"}')], 1007),
    ([text(b'{"x":"\xc3', fin=False), part(b'\x28"}', fin=True)], 1007),
    ([text(b"x" * 130 * KIB)], 1009),
    ([text(b"x" * 60 * KIB, fin=False), *[part(b"x" * 60 * KIB)] * 2], 1009),
    ([text(b"{", fin=False), *[part()] * 64], 4400),
    ([text(b"{", fin=False), *[part(b" ")] * 64], 4400),
]


async def test_frames_that_are_not_allowed_close(world: World) -> None:
    for number, (frames, code) in enumerate(WRONG):
        async with await Raw.enter(world) as client:
            await client.send(*frames)

            assert (number, await client.close_code()) == (number, code)


async def test_a_character_cut_by_the_border_of_two_parts_is_no_wrong_text(world: World) -> None:
    whole = frame("PING", word="дурак")
    cut = whole.index("у".encode()) + 1

    async with await Raw.enter(world) as client:
        await client.send(text(whole[:cut], fin=False), PING, part(whole[cut:], fin=True))
        await client.send(Frame(Opcode.CLOSE, b""))
        answers = [f.opcode for f in await client.to_the_end()]

    assert Opcode.PONG in answers


async def test_a_message_in_64_parts_is_one_message(world: World) -> None:
    client = await world.enter()
    parts = [*(bytes([byte]).decode() for byte in MESSAGE), *[" "] * 60][:63]
    assert "".join(parts).startswith(MESSAGE.decode())

    await client.socket.send(parts)  # and an empty one that ends it

    assert (await client.next())["type"] == "PONG"


async def test_a_ping_is_answered_with_its_own_bytes(world: World) -> None:
    async with await Raw.enter(world) as client:
        await client.send(PING, Frame(Opcode.CLOSE, b""))

        assert (Opcode.PONG, PING.data) in [(f.opcode, f.data) for f in await client.to_the_end()]


async def test_who_pings_and_does_not_read_is_closed(around: World) -> None:
    await around.start_gateway(control_frames_per_minute=10_000_000)

    async with await Raw.enter(around, receive_buffer=4096) as client:
        await client.send(*[PING] * 8_000)  # 1 MB of answers: more than the system buffers

        assert await client.close_code() == 4408


@pytest.mark.parametrize("is_let_in", [True, False])
async def test_a_flood_of_frames_that_are_no_messages_closes(
    around: World, is_let_in: bool
) -> None:
    await around.start_gateway(control_frames_per_minute=100)

    async with await (Raw.enter if is_let_in else Raw.open)(around) as client:
        await client.send(*[PING] * 50, *[Frame(Opcode.PONG, b"")] * 50)

        assert await client.close_code() == 4429


async def test_a_close_frame_is_answered_with_its_code_or_1000(world: World) -> None:
    answers = {b"": 1000, b"\x03\xe8": 1000, b"\x03\xe9bye": 1001, b"\x0f\xa1": 4001}

    for sent, answer in answers.items():
        async with await Raw.enter(world) as client:
            await client.send(Frame(Opcode.CLOSE, sent))

            assert await client.close_code() == answer


@pytest.mark.parametrize("last", [text(b"x" * 130 * KIB), Frame(Opcode.CLOSE, b"\x03\xe8")])
async def test_nothing_is_written_behind_a_close_frame(world: World, last: Frame) -> None:
    game, fellow, _ = await at_table(world)
    player_id = game.seats[0]

    async with await Raw.enter(world, player_id) as client:
        await client.send(last)
        for number in range(50):
            await world.lobby.tell(player_id, "NOTICE", number=number)
        await fellow.next("NOTICE", number=49)
        frames = await client.to_the_end()

    assert [f.opcode for f in frames].index(Opcode.CLOSE) == len(frames) - 1


async def test_a_path_that_is_no_url_is_not_found(world: World) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", world.gateway.settings.ws_port)

    writer.write(b"GET //[/ws HTTP/1.1\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(5):
        answer = await reader.read()
    writer.close()
    await writer.wait_closed()

    assert answer.startswith(b"HTTP/1.1 404")


async def test_sockets_without_credentials_are_bounded_by_address(around: World) -> None:
    await around.start_gateway(unauthenticated_sockets_per_address=2)
    strangers = [await around.open(around.gateway.url) for _ in range(2)]

    third = await around.open(around.gateway.url)
    assert await third.closed() == 4429
    await around.open(around.gateway.url, additional_headers={"X-Forwarded-For": "192.0.2.1"})
    token = around.auth.token(around.auth.identity())
    await strangers[0].ask("AUTH", payload={"access_token": token})  # a stranger no more
    await strangers[0].settle()

    fourth = await around.open(around.gateway.url)
    assert await fourth.ask("AUTH", payload={"access_token": token})
    await strangers[1].socket.close()
    for _ in range(2):
        await around.open(around.gateway.url)


async def test_sockets_without_credentials_are_bounded_in_all(around: World) -> None:
    await around.start_gateway(unauthenticated_sockets=1)
    headers = [{"X-Forwarded-For": f"192.0.2.{number}"} for number in (1, 2)]
    await around.open(around.gateway.url, additional_headers=headers[0])

    refused = await around.open(around.gateway.url, additional_headers=headers[1])

    assert await refused.closed() == 4429


async def test_a_bug_in_the_check_of_credentials_closes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("realtime.gatekeeper.Gatekeeper.require_live", explode)
    token = world.auth.token(world.auth.identity())
    client = await world.open(world.gateway.url)

    await client.say("AUTH", payload={"access_token": token})

    assert await client.closed() == 1011
    assert client.frames[0]["code"] == "ERR_INTERNAL"
