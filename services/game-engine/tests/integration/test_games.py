"""Whole games over NATS: judged, stored, proven, and shown only to those who may see."""

import json
from uuid import uuid4

import pytest

from shared.contracts import engine
from shared.contracts.base import decode
from shared.contracts.realtime import USER_PUSH


@pytest.mark.parametrize("players", [2, 3, 4])
async def test_a_random_game_ends_and_its_events_prove_its_snapshot(
    platform, running, rng, players
):
    table = await platform.new_table(players, mode=rng.choice(["throw_in", "transfer"]))

    moves = await table.play_out(rng)

    assert moves > 5
    assert (await table.record()).result is not None
    await table.assert_proven()


async def test_many_games_run_side_by_side(platform, running, rng, helpers):
    tables = [await platform.new_table(rng.choice([2, 3, 4])) for _ in range(10)]

    async def play(table):
        await table.play_out(rng)
        await table.assert_proven()

    await helpers.together(play(table) for table in tables)


async def test_each_commit_is_pushed_once_and_in_order(platform, running, rng, helpers):
    table = await platform.new_table()
    messages = []
    watch = await platform.watch(engine.GAME_PUSH, table.game_id, messages)
    first = (await table.record()).sequence

    await table.play_out(rng)

    last = (await table.record()).sequence
    await helpers.eventually(
        lambda: helpers.true(messages and decode(engine.GamePush, messages[-1]).is_over)
    )
    await watch.stop()
    pushes = [decode(engine.GamePush, message) for message in messages]
    assert [push.from_sequence for push in pushes] == [
        first, *[push.to_sequence for push in pushes[:-1]],
    ]  # fmt: skip
    assert pushes[-1].to_sequence == last
    told = [json.loads(bytes(raw)) for push in pushes for raw in push.public]
    events = [frame["sequence"] for frame in told if frame["type"] == "GAME_EVENT"]
    assert events == list(range(first + 1, last + 1))


async def test_creating_twice_gives_the_same_game(platform, running, helpers):
    table = await platform.new_table()
    created = await table.events()

    again = await platform.lobby.call(engine.CREATE_GAME, table.request)
    other = table.request.model_copy(update={"has_stake": True})
    code, _ = await helpers.code_of(platform.lobby.call(engine.CREATE_GAME, other))

    assert again.status is engine.GameStatus.RUNNING
    assert await table.events() == created
    assert code == "ERR_IDEMPOTENCY_MISMATCH"


async def test_an_impossible_game_is_refused(platform, running, helpers):
    table = await platform.new_table()
    for update in ({"game": "chess"}, {"mode": "blitz"}, {"options": {"turn_seconds": -1}}):
        request = table.request.model_copy(update={"game_id": uuid4(), **update})

        code, _ = await helpers.code_of(platform.lobby.call(engine.CREATE_GAME, request))

        assert code == "ERR_INVALID_REQUEST"
        summary = await platform.lobby.call(
            engine.GET_GAME, engine.GetGame(game_id=request.game_id)
        )
        assert summary.status is engine.GameStatus.UNKNOWN


async def test_every_player_hears_of_the_start_with_the_commitment(platform, running, helpers):
    messages = []
    watch = await platform.watch(USER_PUSH, None, messages)

    table = await platform.new_table(3, bots=(2,))

    await helpers.eventually(lambda: helpers.true(len(messages) == 2))
    await watch.stop()
    told = [json.loads(message) for message in messages]
    assert [frame["your_seat"] for frame in told] == [0, 1]
    rows = await platform.sql("select commitment, seed from game where game_id = $1", table.game_id)
    assert told[0]["commitment"] == rows[0]["commitment"]
    assert rows[0]["seed"].hex() not in messages[0].decode()
    assert [player["is_bot"] for player in told[0]["players"]] == [False, False, True]


async def test_a_view_shows_each_what_he_may_see(platform, running, helpers):
    table = await platform.new_table(is_private=False)
    hidden = await platform.new_table(is_private=True)

    own = await table.view(table.players[0])
    outsider = await table.view(uuid4())
    code, _ = await helpers.code_of(hidden.view(uuid4()))
    unknown, _ = await helpers.code_of(
        platform.realtime.call(engine.GET_VIEW, engine.GetView(uuid4(), None))
    )

    assert types_of(own) == ["GAME_STATE", "YOUR_HAND", "TURN_TIMER"]
    assert types_of(outsider) == ["GAME_STATE", "TURN_TIMER"]
    assert own.seats == table.players
    assert code == "ERR_PLAYER_NOT_IN_GAME"
    assert unknown == "ERR_GAME_NOT_FOUND"


async def test_private_parts_and_the_seed_are_shown_only_after_the_end(
    platform, running, rng, helpers
):
    table = await platform.new_table()
    ask = engine.ListEvents(game_id=table.game_id, player_id=table.players[0], limit=1000)

    before = await platform.realtime.call(engine.LIST_EVENTS, ask)
    await table.play_out(rng)
    after = await platform.realtime.call(engine.LIST_EVENTS, ask)

    assert all(event.private is None for event in before.events)
    seed = (await table.record()).info.seed.hex()
    assert seed not in before.model_dump_json()
    deal = next(event for event in after.events if event.type == "DEAL")
    assert deal.private is not None
    assert set(deal.private) == {"0", "1"}
    assert after.events[-1].payload["seed"] == seed
    assert after.sequence == len(after.events)
    paged = await platform.realtime.call(
        engine.LIST_EVENTS, ask.model_copy(update={"after": 3, "limit": 2})
    )
    assert [event.sequence for event in paged.events] == [4, 5]


async def test_events_of_a_private_game_are_for_its_players(platform, running, helpers):
    table = await platform.new_table(is_private=True)

    code, _ = await helpers.code_of(
        platform.realtime.call(
            engine.LIST_EVENTS, engine.ListEvents(game_id=table.game_id, player_id=None)
        )
    )

    assert code == "ERR_PLAYER_NOT_IN_GAME"


async def test_sequences_name_known_games_and_the_players_running_ones(platform, running, rng):
    table, over = await platform.new_table(), await platform.new_table()
    await over.play_out(rng)

    reply = await platform.realtime.call(
        engine.GET_SEQUENCES,
        engine.GetSequences(
            [table.game_id, over.game_id, uuid4()], [*table.players, *over.players]
        ),
    )
    games = await platform.realtime.call(
        engine.LIST_GAMES, engine.ListGames(player_id=table.players[0])
    )

    assert reply.sequences == {
        table.game_id: (await table.record()).sequence,
        over.game_id: (await over.record()).sequence,
    }
    assert reply.running == {player: [table.game_id] for player in table.players}
    assert games.game_ids == (table.game_id,)


def types_of(view):
    return [json.loads(bytes(raw))["type"] for raw in view.frames]
