"""PostgreSQL goes away under a running engine: no player pays for it."""

import asyncio
import json

import pytest

from game_engine.app import compose
from shared import lifecycle
from shared.bus import Bus
from shared.contracts import engine
from shared.db import Database


@pytest.fixture
async def own_platform(own_infra, platform):
    users = ("lobby", "realtime", "bot", "operator")
    buses = {
        user: await Bus.connect(
            own_infra.nats_url, user=user, password=own_infra.nats_password(user)
        )
        for user in users
    }
    await buses["realtime"].announce()
    db = Database.connect(own_infra.database_url("engine"), name="test")
    own = type(platform)(own_infra, buses, db)
    service = await lifecycle.start("game_engine", own.settings_of(), compose)
    yield own
    await service.close()
    await db.close()
    for bus in buses.values():
        await bus.drain()


@pytest.mark.chaos
async def test_moves_that_arrive_in_an_outage_are_judged_without_it(
    own_infra, own_platform, rng, helpers
):
    tables = [await own_platform.new_table(options={"turn_seconds": 3}) for _ in range(3)]
    records = [await table.record() for table in tables]

    async def insist(table, record):
        """Repeat one move through the outage, as a gateway does."""
        seat, type_, payload = helpers.random_move(record, rng)
        return await table.act_surely(seat, type_, payload, sequence=record.sequence, timeout_s=1.0)

    await asyncio.to_thread(own_infra.postgres.kill)
    moves = [
        asyncio.create_task(insist(table, record))
        for table, record in zip(tables, records, strict=True)
    ]
    await asyncio.sleep(7)  # real time: longer than a turn and than the gap that makes an outage
    await asyncio.to_thread(own_infra.postgres.start)
    await asyncio.gather(*moves)

    for table, before in zip(tables, records, strict=True):
        assert (await table.record()).result is None
        recovery = (await table.events())[before.sequence]
        assert recovery.type == "RECOVERY"
        assert json.loads(recovery.payload)["extended_ms"] > 5000
        await table.assert_proven()


async def test_a_game_that_cannot_be_read_does_not_hurt_the_others(platform, running, rng, helpers):
    broken, *healthy = [await platform.new_table() for _ in range(6)]
    with_bot = await platform.new_table(bots=(0, 1))
    moves = [
        (table, helpers.random_move(await table.record(), rng)) for table in (broken, *healthy)
    ]
    for table in (broken, with_bot):
        await platform.sql("update game set snapshot = 'x' where game_id = $1", table.game_id)

    outcomes = await helpers.together([helpers.code_of(table.act(*move)) for table, move in moves])
    waiting = await platform.bot.call(engine.LIST_WAITING_BOTS, engine.NoContent())

    assert [code for code, _ in outcomes] == ["ERR_INTERNAL", *["OK"] * 5]
    assert with_bot.game_id not in {turn.game_id for turn in waiting.turns}
