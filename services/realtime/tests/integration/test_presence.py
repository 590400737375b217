"""Who of a game is there, over several gateways."""

import redis.asyncio as redis

from services.realtime.tests.integration.test_games import at_table
from services.realtime.tests.integration.world import World, until
from shared.ids import bot_id, new_id


def connected(frame: dict[str, list[dict[str, bool]]]) -> list[bool]:
    return [player["connected"] for player in frame["players"]]


async def test_the_flags_follow_the_sockets(world: World) -> None:
    game, first, second = await at_table(world)

    await second.socket.close()
    away = await first.next("GAME_STATE")
    assert connected(away) == [True, False]

    await world.engine.advance(game)
    assert connected(await first.next("GAME_STATE", sequence=game.sequence)) == [True, False]

    back = await world.enter(game.seats[1])
    reconnected = await first.next("PLAYER_RECONNECTED")
    assert reconnected["player_id"] == str(game.seats[1])
    assert (reconnected["seat"], reconnected["game_id"]) == (1, str(game.id))
    assert connected(await first.next("GAME_STATE")) == [True, True]
    await back.settle()


async def test_a_player_who_never_came_is_away_and_a_bot_is_always_there(world: World) -> None:
    identity = world.auth.identity()
    game = world.engine.game(identity.player_id, new_id(), bot_id(0))

    client = await world.enter(identity)
    if not client.of("GAME_STATE"):
        await client.next("GAME_STATE")
    await client.settle()

    assert game.sequence
    assert connected(client.of("GAME_STATE")[0]) == [True, False, True]


async def test_the_last_of_several_sockets_counts(world: World) -> None:
    game, first, second = await at_table(world)
    other_socket = await world.enter(game.seats[1])

    await second.socket.close()
    await world.engine.advance(game)
    assert connected(await first.next("GAME_STATE", sequence=game.sequence)) == [True, True]

    await other_socket.socket.close()
    assert connected(await first.next("GAME_STATE")) == [True, False]


async def test_a_player_on_another_gateway_is_there(around: World) -> None:
    here = await around.start_gateway()
    there = await around.start_gateway()
    first, second = around.auth.identity(), around.auth.identity()
    game = around.engine.game(first.player_id, second.player_id)
    remote = await around.enter(second, gateway=there)
    await _is_stored(around, str(second.player_id))

    local = await around.enter(first, gateway=here)
    if not local.of("TURN_TIMER"):
        await local.next("TURN_TIMER")
    assert connected(local.of("GAME_STATE")[-1]) == [True, True]

    await remote.socket.close()
    assert connected(await local.next("GAME_STATE")) == [True, False]
    await around.enter(second, gateway=there)
    await local.next("PLAYER_RECONNECTED", player_id=second.player_id)
    assert game.sequence


async def test_a_gateway_that_died_is_found_out(around: World) -> None:
    here = await around.start_gateway(presence_ttl_s=0.6)
    first, second = around.auth.identity(), around.auth.identity()
    around.engine.game(first.player_id, second.player_id)
    client = redis.Redis.from_url(around.infra.redis_url)
    key = f"presence:{second.player_id}"
    await client.zadd(key, {"a gateway that died": 0})

    local = await around.enter(first, gateway=here)
    if not local.of("TURN_TIMER"):
        await local.next("TURN_TIMER")
    assert connected(local.of("GAME_STATE")[-1]) == [True, True]
    await client.pexpire(key, 1)

    assert connected(await local.next("GAME_STATE")) == [True, False]
    await client.aclose()


async def test_presence_is_repeated_before_it_is_forgotten(around: World) -> None:
    await around.start_gateway(presence_ttl_s=0.6)
    player_id = new_id()
    client = await around.enter(player_id)
    await _is_stored(around, str(player_id))
    valkey = redis.Redis.from_url(around.infra.redis_url)
    key = f"presence:{player_id}"

    await valkey.delete(key)
    await _is_stored(around, str(player_id))
    await client.socket.close()

    async def is_gone() -> bool:
        return not await valkey.exists(key)

    await until(is_gone)
    await valkey.aclose()


async def _is_stored(world: World, player_id: str) -> None:
    valkey = redis.Redis.from_url(world.infra.redis_url)

    async def is_there() -> bool:
        return bool(await valkey.exists(f"presence:{player_id}"))

    await until(is_there)
    await valkey.aclose()
