"""Short outages of other services are pauses, not errors."""

import asyncio

from services.realtime.tests.integration.fake_engine import FakeGame
from services.realtime.tests.integration.test_games import at_table
from services.realtime.tests.integration.world import Client, World, until
from shared import errors
from shared.ids import new_id


async def test_a_move_without_a_reply_is_repeated_with_the_same_ids(world: World) -> None:
    game, first, _ = await at_table(world)
    world.engine.fail_acts = [None, errors.Unavailable(), errors.Internal()]

    reply = await first.ask("TAKE", game_id=game.id, sequence=game.sequence)

    assert reply["type"] == "ACTION_ACCEPTED"
    assert len(world.engine.acts) == 4
    assert len({(act.request_id, act.sequence, act.type) for act in world.engine.acts}) == 1


async def test_an_engine_that_is_replaced_is_only_a_pause(world: World) -> None:
    game, first, _ = await at_table(world)
    await world.engine.stop()

    request_id = await first.say("TAKE", game_id=game.id, sequence=game.sequence)
    await first.settle()
    await world.engine.start(world.infra)

    assert (await first.reply(request_id))["type"] == "ACTION_ACCEPTED"


async def test_an_engine_that_stays_away_is_an_error_of_unknown_outcome(around: World) -> None:
    await around.start_gateway(act_patience_s=0.3)
    game, first, _ = await at_table(around)
    await around.engine.stop()

    reply = await first.ask("TAKE", game_id=game.id, sequence=game.sequence)

    assert (reply["type"], reply["code"]) == ("ERROR", "ERR_UNAVAILABLE")


async def test_an_engine_that_does_not_answer_is_a_timeout(around: World) -> None:
    await around.start_gateway(act_timeout_s=0.1, act_patience_s=0.2)
    game, first, _ = await at_table(around)
    around.engine.fail_acts = [None] * 5

    reply = await first.ask("TAKE", game_id=game.id, sequence=game.sequence)

    assert (reply["type"], reply["code"]) == ("ERROR", "ERR_TIMEOUT")


async def test_a_player_who_comes_while_the_engine_is_away_is_shown_his_game_later(
    around: World,
) -> None:
    await around.start_gateway(ask_patience_s=0.2)
    identity = around.auth.identity()
    game = around.engine.game(identity.player_id, new_id())
    await around.engine.stop()

    client = await around.enter(identity)
    await around.engine.start(around.infra)

    await client.next("TURN_TIMER", game_id=game.id)


async def test_a_lobby_that_is_replaced_is_only_a_pause(world: World) -> None:
    identity = world.auth.identity()
    await world.lobby.stop()

    async with world.rest(identity) as rest:
        asking = asyncio.create_task(rest.get("/v1/rooms"))
        await asyncio.sleep(0)
        await world.lobby.start(world.infra)
        reply = await asking

    assert reply.status_code == 200


async def test_without_valkey_everybody_counts_as_connected_and_limits_stay(
    around: World,
) -> None:
    nowhere = "redis://127.0.0.1:1/0"
    gateway = await around.start_gateway(is_ready=False, redis_url=nowhere, seats_per_minute=2)
    await until(gateway.lets_people_in)
    identity = around.auth.identity()
    game = around.engine.game(identity.player_id, new_id())

    client = await around.enter(identity)
    if not client.of("GAME_STATE"):
        await client.next("GAME_STATE", game_id=game.id)
    async with around.rest(identity) as rest:
        replies = [await rest.post(f"/v1/rooms/{new_id()}/join") for _ in range(3)]

    assert [player["connected"] for player in client.of("GAME_STATE")[0]["players"]] == [True] * 2
    assert [reply.status_code for reply in replies] == [200, 200, 429]
    assert not await gateway.is_ready()


async def test_a_second_socket_that_came_while_the_engine_was_away_is_not_deaf_for_good(
    around: World,
) -> None:
    await around.start_gateway(ask_patience_s=0.2)
    game, _, _ = await at_table(around)

    second = await _enter_during_outage(around, game)

    await second.next("TURN_TIMER", game_id=game.id)
    await around.engine.advance(game)
    await second.next("YOUR_HAND", sequence=game.sequence)


async def test_a_socket_that_was_not_brought_to_its_game_can_ask_for_it(around: World) -> None:
    await around.start_gateway(ask_patience_s=0.2, resync_interval_s=600)
    game, _, _ = await at_table(around)
    second = await _enter_during_outage(around, game)

    await second.ask("WATCH_GAME", game_id=game.id)
    await around.engine.advance(game)

    await second.next("YOUR_HAND", sequence=game.sequence)


async def _enter_during_outage(around: World, game: FakeGame) -> Client:
    """Open another socket of the first player; return when it was not brought to the game."""
    await around.engine.stop()
    client = await around.enter(game.seats[0])
    # Has the same patience, and was asked later.
    assert (await client.ask("WATCH_GAME", game_id=new_id()))["type"] == "ERROR"
    assert client.of("GAME_STATE") == []
    await around.engine.start(around.infra)
    return client


async def test_a_valkey_that_hangs_holds_up_no_game(around: World) -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(hang, "127.0.0.1", 0) as silent:
        port = silent.sockets[0].getsockname()[1]
        gateway = await around.start_gateway(
            is_ready=False, redis_url=f"redis://127.0.0.1:{port}/0"
        )
        await until(gateway.lets_people_in)
        identity = around.auth.identity()
        around.engine.game(identity.player_id, new_id())

        client = await around.enter(identity)
        async with asyncio.timeout(1):  # half of what a request to Valkey may take
            if not client.of("GAME_STATE"):
                await client.next("GAME_STATE")

        await gateway.stop()
