"""How a gateway stops."""

import asyncio

import pytest
from websockets.exceptions import InvalidStatus

from services.realtime.tests.integration.test_games import at_table
from services.realtime.tests.integration.world import World
from shared import errors


async def test_a_stopping_gateway_asks_its_clients_to_come_back_later(world: World) -> None:
    client = await world.enter()

    stopping = asyncio.create_task(world.gateway.stop())

    assert await client.closed() == 1012
    notice = client.of("NOTICE")[-1]
    assert notice["code"] == "RESTART"
    assert 0 <= notice["reconnect_after_ms"] <= world.gateway.settings.restart_spread_ms
    await stopping


async def test_a_move_under_way_is_answered_before_the_end(world: World) -> None:
    game, first, _ = await at_table(world)
    world.engine.fail_acts = [errors.Unavailable()] * 2

    request_id = await first.say("TAKE", game_id=game.id, sequence=game.sequence)
    stopping = asyncio.create_task(world.gateway.stop())

    assert (await first.reply(request_id))["type"] == "ACTION_ACCEPTED"
    assert await first.closed() == 1012
    await stopping


async def test_a_stopped_gateway_lets_nobody_in(world: World) -> None:
    url = world.gateway.url
    await world.gateway.stop()

    with pytest.raises((OSError, InvalidStatus)):
        await world.open(url)
