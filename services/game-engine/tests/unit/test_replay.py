"""Seed and events give the snapshot again, and any lie in them is found."""

import msgspec
import pytest

from game_engine.domain.judge import judge_expiry
from game_engine.domain.outages import Outage, Outages
from game_engine.domain.replay import StoredRow, differences


def rows_of(events, at_ms):
    return [
        StoredRow(event.sequence, event.type, event.seat, event.payload, event.private, at_ms)
        for event in events
    ]


def played(game, rng, *, expire_at_end=False, outages=None):
    """Play to the end with preferences set now and then; return the stored events."""
    rows = rows_of(game.created.events, game.record.updated_ms)
    for number in range(10_000):
        if game.record.result is not None:
            return rows
        if rng.random() < 0.1:
            seat = rng.randrange(len(game.record.info.players))
            command = game.command(
                seat, "SET_AUTO_PASS", {"on": rng.random() < 0.5},
                arrived_ms=game.record.updated_ms + 1,
            )  # fmt: skip
            change = game.judge(command).change
        elif expire_at_end and number > 10:
            change = judge_expiry(game.record, game.record.deadline_ms + 300, Outages())
        elif outages is not None and number == 5:
            after_ms = outages.last_end_ms + 10
            change = game.judge(game.legal(rng, arrived_ms=after_ms), outages=outages).change
        else:
            change = game.judge(game.legal(rng, arrived_ms=game.record.updated_ms + 700)).change
        game.record = change.after()
        rows += rows_of(change.events, change.now_ms)
    pytest.fail("the game does not end")


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("mode", ["throw_in", "transfer"])
@pytest.mark.parametrize("number", range(10))
def test_random_games_replay_bit_for_bit(deal, players, mode, number, rng):
    game = deal(players, mode=mode, seed=rng.randbytes(32))

    rows = played(game, rng, expire_at_end=number % 3 == 0)

    assert differences(game.record, game.created.options, rows) == []


def test_a_game_with_an_outage_replays_bit_for_bit(deal, rng):
    game = deal(2)
    start = game.record.updated_ms
    outages = Outages([Outage(start + 4000, start + 64_000)])

    rows = played(game, rng, outages=outages)

    assert "RECOVERY" in [row.type for row in rows]
    assert differences(game.record, game.created.options, rows) == []


def test_a_forged_event_a_gap_and_a_forged_snapshot_are_found(deal, rng):
    game = deal(2)
    rows = played(game, rng)
    options = game.created.options

    drawn = next(index for index, row in enumerate(rows) if row.type == "DRAW")
    forged = list(rows)
    forged[drawn] = msgspec.structs.replace(rows[drawn], private=b"{}")
    assert differences(game.record, options, forged) == ["events differ"]
    assert differences(game.record, options, rows[:3] + rows[4:]) == ["sequences have gaps"]
    state = msgspec.structs.replace(game.record.state, discard=0)
    record = msgspec.structs.replace(game.record, state=state)
    assert differences(record, options, rows) == ["the snapshot differs"]
