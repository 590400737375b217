"""From the last move to the audit of the money."""

import json
from uuid import uuid4

from shared.contracts import economy, engine


async def summary_of(platform, game_id):
    return await platform.lobby.call(engine.GET_GAME, engine.GetGame(game_id=game_id))


async def finished(platform, rng, **options):
    table = await platform.new_table(**options)
    await table.play_out(rng)
    return table


def is_settled(platform, game_id):
    async def ask():
        return (await summary_of(platform, game_id)).settled

    return ask


async def test_a_finished_game_with_a_stake_is_settled_and_audited(
    platform, start_engine, bank, rng, helpers
):
    await start_engine(SWEEP_INTERVAL_S=60)
    table = await finished(platform, rng, has_stake=True)
    await helpers.eventually(lambda: helpers.true(bank.settled))
    last = (await table.record()).sequence

    for _ in range(2):
        await bank.announce(table.game_id)
    await helpers.eventually(is_settled(platform, table.game_id))

    (request,) = bank.settled
    assert sorted(standing.place for standing in request.standings) == [1, 2]
    added = (await table.events())[last:]
    assert [event.type for event in added] == [
        "SETTLEMENT_STARTED", "PAYOUT", "RAKE", "SETTLEMENT_FINISHED",
    ]  # fmt: skip
    winner = next(s.player_id for s in request.standings if s.place == 1)
    payout = json.loads(added[1].payload)
    assert payout == {"player_id": str(winner), "amount": 175}
    assert added[1].seat == table.players.index(winner)
    assert (await table.record()).sequence == last + 4
    await table.assert_proven()


async def test_a_settlement_that_was_never_heard_of_is_asked_for(
    platform, running, bank, rng, helpers
):
    table = await finished(platform, rng, has_stake=True)
    last = (await table.record()).sequence

    await helpers.eventually(is_settled(platform, table.game_id))

    types = [event.type for event in (await table.events())[last:]]
    assert types == ["RECOVERY", "SETTLEMENT_STARTED", "PAYOUT", "RAKE", "SETTLEMENT_FINISHED"]


async def test_a_friendly_game_never_reaches_the_economy(platform, running, bank, rng, helpers):
    friendly = await finished(platform, rng)
    staked = await finished(platform, rng, has_stake=True)

    await helpers.eventually(lambda: helpers.true(bank.settled))

    assert [request.game_id for request in bank.settled] == [staked.game_id]
    summary = await summary_of(platform, friendly.game_id)
    assert summary.status is engine.GameStatus.FINISHED
    assert summary.finish_kind is economy.FinishKind.NORMAL
    assert sorted(standing.place for standing in summary.standings) == [1, 2]
    assert not summary.settled


async def test_an_abandoned_game_never_starts_and_is_settled_as_cancelled(
    platform, running, bank, helpers
):
    table = await platform.new_table()
    request = table.request.model_copy(
        update={"game_id": uuid4(), "room_id": uuid4(), "has_stake": True}
    )
    abandon = engine.AbandonGame(
        game_id=request.game_id, room_id=request.room_id, has_stake=True,
        player_ids=tuple(table.players),
    )  # fmt: skip

    first = await platform.lobby.call(engine.ABANDON_GAME, abandon)
    again = await platform.lobby.call(engine.ABANDON_GAME, abandon)
    created = await platform.lobby.call(engine.CREATE_GAME, request)

    assert first.status is again.status is created.status is engine.GameStatus.ABANDONED
    await helpers.eventually(is_settled(platform, request.game_id))
    (settle,) = bank.settled
    assert settle.finish_kind is economy.FinishKind.CANCELLED
    assert [standing.player_id for standing in settle.standings] == table.players
    code, _ = await helpers.code_of(
        platform.realtime.call(engine.GET_VIEW, engine.GetView(request.game_id, table.players[0]))
    )
    assert code == "ERR_GAME_NOT_FOUND"


async def test_abandoning_a_running_game_changes_nothing(platform, running, rng):
    table = await platform.new_table()
    abandon = engine.AbandonGame(
        game_id=table.game_id, room_id=table.request.room_id, has_stake=False,
        player_ids=tuple(table.players),
    )  # fmt: skip

    summary = await platform.lobby.call(engine.ABANDON_GAME, abandon)

    assert summary.status is engine.GameStatus.RUNNING
    await table.play_out(rng)
    summary = await platform.lobby.call(engine.ABANDON_GAME, abandon)
    assert summary.status is engine.GameStatus.FINISHED
