"""Backends that are killed under load: what was answered is stored once, all is answered."""

import asyncio
from uuid import uuid4

import pytest

pytestmark = pytest.mark.chaos

KILL = """
select pg_terminate_backend(pid) from pg_stat_activity
where usename = 'engine_runtime' and application_name like 'game_engine%'
"""


async def test_killed_backends_lose_and_double_nothing(platform, start_engine, rng, helpers):
    await start_engine()
    await start_engine(INSTANCE=2)
    tables = [await platform.new_table() for _ in range(4)]
    accepted = {table.game_id: set() for table in tables}
    playing = len(tables)

    async def play(table):
        nonlocal playing
        while (record := await table.record()).result is None:
            seat, type_, payload = helpers.random_move(record, rng)
            request_id = uuid4()
            answer = await helpers.answer_of(
                table.act_surely(
                    seat, type_, payload, sequence=record.sequence, request_id=request_id
                )
            )
            assert not isinstance(answer, str), answer
            accepted[table.game_id].add(request_id)
        playing -= 1

    async def kill():
        killed = 0
        while playing:
            killed += len(await platform.sql(KILL, url=platform.infra.admin_url))
            await asyncio.sleep(0.2)
        return killed

    killed, *_ = await helpers.together([kill(), *(play(table) for table in tables)])

    assert killed > 2
    for table in tables:
        await table.assert_proven()
        assert await table.requests() == dict.fromkeys(accepted[table.game_id], 1)
