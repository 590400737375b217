"""What is too much: sizes, wrong messages, rates, and readers that do not read."""

import contextlib

import pytest
from websockets.exceptions import ConnectionClosed

from services.realtime.tests.integration.raw import Raw
from services.realtime.tests.integration.world import World
from shared.ids import new_id


async def test_a_message_over_16_kib_is_refused_and_the_socket_lives(world: World) -> None:
    client = await world.enter()

    await client.socket.send("x" * (16 * 1024 + 1))
    reply = await client.next("ERROR")

    assert reply["code"] == "ERR_INVALID_REQUEST"
    await client.settle()


async def test_a_fragmented_message_over_the_limit_is_refused(world: World) -> None:
    client = await world.enter()

    await client.socket.send(["x" * 10_000] * 2)

    assert (await client.next("ERROR"))["code"] == "ERR_INVALID_REQUEST"
    await client.settle()


async def test_a_frame_that_is_far_too_large_closes(world: World) -> None:
    client = await world.enter()

    await client.socket.send("x" * 300_000)

    assert await client.closed() == 1009


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"type":"TAKE"}', '{"type":5}', ""])
async def test_a_malformed_message_is_answered(world: World, text: str) -> None:
    client = await world.enter()

    await client.socket.send(text)

    assert (await client.next("ERROR"))["code"] == "ERR_INVALID_REQUEST"
    await client.settle()


async def test_another_protocol_version_and_unknown_types_are_answered(world: World) -> None:
    client = await world.enter()

    version = await client.ask("PING", version=2)
    unknown = [await client.ask(kind, game_id=new_id()) for kind in ("CHAT", "SHUFFLE", "attack")]

    assert version["code"] == "ERR_PROTOCOL_VERSION"
    assert [reply["code"] for reply in unknown] == ["ERR_INVALID_REQUEST"] * 3


async def test_twenty_wrong_messages_close(world: World) -> None:
    client = await world.enter()

    for _ in range(20):
        await client.socket.send("{")

    assert await client.closed() == 4400
    assert [frame["code"] for frame in client.of("ERROR")] == ["ERR_INVALID_REQUEST"] * 20


async def test_commands_over_the_rate_are_refused_and_a_flood_closes(around: World) -> None:
    await around.start_gateway(commands_per_s=1, commands_burst=5, refusals_per_minute=10)
    client = await around.enter()

    with contextlib.suppress(ConnectionClosed):
        for _ in range(60):
            await client.say("PING")

    assert await client.closed() == 4429
    assert {frame["code"] for frame in client.of("ERROR")} == {"ERR_RATE_LIMITED"}


async def test_whole_states_have_a_rate_of_their_own(around: World) -> None:
    await around.start_gateway(state_requests_per_s=0.01)
    identity = around.auth.identity()
    game = around.engine.game(identity.player_id, new_id())
    client = await around.enter(identity)

    replies = [await client.ask("GET_GAME_STATE", game_id=game.id) for _ in range(2)]

    assert [reply["type"] for reply in replies] == ["ACTION_ACCEPTED", "ERROR"]
    assert replies[1]["code"] == "ERR_RATE_LIMITED"
    await client.settle()


async def test_watched_games_are_bounded(around: World) -> None:
    await around.start_gateway(watched_games=2)
    client = await around.enter()
    games = [around.engine.game(new_id(), new_id()) for _ in range(3)]

    replies = [await client.ask("WATCH_GAME", game_id=game.id) for game in games]
    assert [reply.get("code") for reply in replies] == [None, None, "ERR_RATE_LIMITED"]

    await client.ask("UNWATCH_GAME", game_id=games[0].id)
    again = await client.ask("WATCH_GAME", game_id=games[2].id)
    assert again["type"] == "ACTION_ACCEPTED"


async def test_a_slow_reader_is_closed_and_the_others_get_everything(around: World) -> None:
    await around.start_gateway(send_queue_bytes=200_000)
    slow_one, quick_one = new_id(), new_id()
    slow = await Raw.enter(around, slow_one, receive_buffer=4096)
    quick = await around.enter(quick_one)

    for number in range(40):  # 2 MB: more than the system buffers for the slow one
        for player_id in (slow_one, quick_one):
            await around.lobby.tell(player_id, "NOTICE", number=number, text="x" * 50_000)
        assert (await quick.next("NOTICE"))["number"] == number

    async with slow:
        assert await slow.close_code() == 4408
    await quick.settle()
