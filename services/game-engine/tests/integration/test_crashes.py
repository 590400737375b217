"""kill -9 at named places: after the restart the same request has exactly one effect."""

import asyncio
from uuid import uuid4

import pytest

from shared.contracts import engine
from shared.contracts.engine import CREATE_GAME, GET_GAME, CreateGame, GamePlayer, GetGame

pytestmark = pytest.mark.chaos


@pytest.fixture
async def process(platform, infra):
    """Start engine processes one after the other."""
    started = []
    # Deadlines of other tests' games would count as hits of the failpoints.
    await platform.sql("update game set wake_at_ms = 9e15 where status = 'running'")

    async def start(**overrides):
        replica = infra.service("game_engine", len(started) + 1, **overrides)
        started.append(replica)
        await asyncio.to_thread(replica.start)
        return replica

    yield start
    for replica in started:
        await asyncio.to_thread(replica.stop)


async def died(replica):
    return not replica.is_alive()


@pytest.mark.parametrize(
    ("failpoint", "is_durable"),
    [
        ("engine.act.before_commit", False),
        ("engine.act.after_commit", True),
        ("engine.act.before_reply", True),
    ],
)
async def test_a_move_survives_a_crash_and_happens_once(  # noqa: PLR0917  # fixtures
    platform, process, rng, helpers, failpoint, is_durable
):
    first = await process(FAILPOINT=f"{failpoint}:3")
    table = await platform.new_table()
    for _ in range(2):
        await table.move(rng)
    record = await table.record()
    seat, type_, payload = helpers.random_move(record, rng)
    command = {"sequence": record.sequence, "request_id": uuid4()}

    code, _ = await helpers.code_of(table.act(seat, type_, payload, **command, timeout_s=1))
    await helpers.eventually(lambda: died(first))

    assert code in ("ERR_TIMEOUT", "ERR_UNAVAILABLE")
    assert (command["request_id"] in await table.requests()) is is_durable
    await process()
    reply = await table.act_surely(seat, type_, payload, **command)
    assert await table.act(seat, type_, payload, **command) == reply
    assert (await table.requests())[command["request_id"]] == 1
    await table.play_out(rng)
    await table.assert_proven()


async def test_a_crash_after_the_creation_leaves_the_one_game_that_the_repetition_finds(
    platform, process, rng, helpers
):
    first = await process(FAILPOINT="engine.create.after_commit")
    request = CreateGame(
        game_id=uuid4(), room_id=uuid4(), game="durak", mode="throw_in", options={},
        players=tuple(GamePlayer(player_id=uuid4(), nickname="P") for _ in range(2)),
        has_stake=False, is_private=False,
    )  # fmt: skip

    code, _ = await helpers.code_of(platform.lobby.call(CREATE_GAME, request, timeout_s=1))
    await helpers.eventually(lambda: died(first))
    assert code in ("ERR_TIMEOUT", "ERR_UNAVAILABLE")
    events = "select count(*) from game_event where game_id = $1"
    (before,) = await platform.sql(events, request.game_id)
    await process()
    summary = await platform.lobby.call(CREATE_GAME, request)

    assert summary.status is engine.GameStatus.RUNNING
    (after,) = await platform.sql(events, request.game_id)
    assert before == after


async def test_a_crash_after_the_last_move_settles_once_and_tells_the_fact(
    platform, process, bank, rng, helpers
):
    first = await process(FAILPOINT="engine.finish.after_commit")
    table = await platform.new_table(has_stake=True)

    await helpers.code_of(table.play_out(rng))
    await helpers.eventually(lambda: died(first))
    record = await table.record()
    assert record.result is not None
    assert bank.settled == []
    await process(SWEEP_INTERVAL_S=0.2)

    async def settled():
        summary = await platform.lobby.call(GET_GAME, GetGame(game_id=table.game_id))
        return summary.settled

    await helpers.eventually(lambda: helpers.true(bank.settled))
    await helpers.eventually(settled)
    assert {request.game_id for request in bank.settled} == {table.game_id}
    types = [event.type for event in await table.events()]
    assert types.count("SETTLEMENT_FINISHED") == 1
    await helpers.eventually(lambda: platform.sql("select 1 where not exists (select from outbox)"))
