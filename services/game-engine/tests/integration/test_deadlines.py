"""Deadlines, and outages that put them off."""

import json

import pytest

from shared.contracts import engine
from shared.contracts.base import decode

BACKDATE = "update heartbeat set beat_ms = beat_ms - 60000"


async def database_ms(platform):
    rows = await platform.sql("select (extract(epoch from clock_timestamp()) * 1000)::bigint")
    return rows[0][0]


async def test_a_player_who_lets_his_time_pass_forfeits(platform, running, helpers):
    messages = []
    table = await platform.new_table(options={"turn_seconds": 1})
    watch = await platform.watch(engine.GAME_PUSH, table.game_id, messages)

    await helpers.eventually(lambda: helpers.true(messages))
    await watch.stop()

    record = await table.record()
    loser = record.state.attacker
    assert record.result.standings[loser].forfeited
    told = [json.loads(bytes(raw))["type"] for raw in decode(engine.GamePush, messages[0]).public]
    assert "PLAYER_FORFEITED" in told
    assert told[-1] == "GAME_FINISHED"
    code, details = await helpers.code_of(table.act(loser, "TAKE"))
    assert (code, details) == ("ERR_PLAYER_FORFEITED", {"sequence": record.sequence})
    assert (await helpers.code_of(table.act(1 - loser, "TAKE")))[0] == "ERR_GAME_FINISHED"
    await table.assert_proven()


async def test_moves_in_time_keep_a_game_going_and_the_scan_lets_it_sleep(
    platform, running, rng, helpers
):
    table = await platform.new_table(options={"turn_seconds": 1})
    first = await table.record()

    async def moved_past_the_first_deadline():
        now_ms = await database_ms(platform)
        record = await table.record()
        if record.deadline_ms - now_ms < 500:
            await table.move(rng)
        rows = await platform.sql("select wake_at_ms from game where game_id = $1", table.game_id)
        return now_ms > first.deadline_ms + 600 and rows[0][0] > first.deadline_ms

    await helpers.eventually(moved_past_the_first_deadline)

    assert (await table.record()).result is None


async def test_an_outage_gives_the_time_back_and_the_next_move_records_it(
    platform, start_engine, rng, helpers
):
    first = await start_engine()
    table = await platform.new_table(options={"turn_seconds": 1})
    await first.close()
    await platform.sql(BACKDATE)
    before = await table.record()

    async def deadline_passed():
        return await database_ms(platform) > before.deadline_ms + 300

    await helpers.eventually(deadline_passed)
    await start_engine()
    view = await table.view(table.players[0])
    shown = json.loads(bytes(view.frames[0]))
    seat, type_, payload = helpers.random_move(before, rng)
    await table.act(seat, type_, payload, sequence=before.sequence)

    assert shown["deadline_ms"] > before.deadline_ms + 300
    assert shown["sequence"] == before.sequence
    recovery = (await table.events())[before.sequence]
    assert recovery.type == "RECOVERY"
    extended_ms = json.loads(recovery.payload)["extended_ms"]
    assert shown["deadline_ms"] == before.deadline_ms + extended_ms
    await table.assert_proven()


async def test_an_outage_is_found_once_by_two_replicas(platform, start_engine, helpers):
    first = await start_engine()
    await first.close()
    (before,) = await platform.sql("select count(*) from outage")
    await platform.sql(BACKDATE)

    await helpers.together([start_engine(), start_engine(INSTANCE=2)])

    (after,) = await platform.sql("select count(*) from outage")
    assert after[0] == before[0] + 1


async def test_after_an_outage_an_idle_game_still_expires(platform, start_engine, helpers):
    first = await start_engine()
    table = await platform.new_table(options={"turn_seconds": 1})
    await first.close()
    await platform.sql(BACKDATE)
    await start_engine()

    async def is_over():
        return (await table.record()).result

    await helpers.eventually(is_over)
    types = [event.type for event in await table.events()]
    assert types[-4:] == ["RECOVERY", "TURN_TIMEOUT", "FORFEIT", "GAME_FINISHED"]
    await table.assert_proven()


@pytest.fixture
def short_outages(monkeypatch):
    """Outages count from 1.5 s instead of 5."""
    monkeypatch.setattr("game_engine.deadlines.PING_TIMEOUT_S", 0.3)
    monkeypatch.setattr("game_engine.deadlines.OUTAGE_GAP_MS", 1500)
    monkeypatch.setattr("game_engine.deadlines.FRESH_S", 1.2)
    monkeypatch.setattr("game_engine.deadlines.BEAT_INTERVAL_S", 0.3)


@pytest.mark.usefixtures("short_outages")
async def test_while_no_gateway_answers_nobodys_time_runs(platform, start_engine, rng, helpers):
    """The only gateway goes away for longer than a turn, and comes back."""
    await start_engine()
    table = await platform.new_table(options={"turn_seconds": 2})
    before = await table.record()
    await platform.realtime.stop_serving()
    try:

        async def deadline_passed():
            return await database_ms(platform) > before.deadline_ms + 1500

        await helpers.eventually(deadline_passed)
        assert (await table.record()).result is None
    finally:
        await platform.realtime.announce()
    seat, type_, payload = helpers.random_move(before, rng)
    await table.act_surely(seat, type_, payload, sequence=before.sequence)

    record = await table.record()
    assert record.result is None
    recovery = (await table.events())[before.sequence]
    assert recovery.type == "RECOVERY"
    await table.assert_proven()
