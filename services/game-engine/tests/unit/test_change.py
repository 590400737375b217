"""Games without a deadline of their own, and what a change keeps."""

from typing import Any

import msgspec

from game_engine.domain.change import UNTIMED_LIMIT_MS, Change
from game_engine.domain.outages import Outages

NOW_MS = 1_800_000_000_000


class Untimed:
    """The rules of another game, under which nobody is ever late."""

    def __init__(self, rules: Any) -> None:
        self._rules = rules

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rules, name)

    def deadline_ms(self, _: object) -> None:
        return None

    def on_deadline(self, state: object, _: int) -> tuple[object, list[object]]:
        return state, []


def expire(record):
    change = Change(record, record.deadline_ms, Outages())
    change.expire()
    return change


def untimed(deal):
    record = deal().record
    info = msgspec.structs.replace(record.info, rules=Untimed(record.info.rules))
    return msgspec.structs.replace(record, info=info, deadline_ms=NOW_MS + UNTIMED_LIMIT_MS)


def test_the_third_expiry_in_a_row_cancels_an_untimed_game(deal):
    record = untimed(deal)

    for expiries in (1, 2):
        change = expire(record)
        assert [event.type for event in change.events] == ["TURN_TIMEOUT"]
        record = change.after()
        assert record.expiries == expiries
        assert record.deadline_ms == change.now_ms + UNTIMED_LIMIT_MS
    change = expire(record)

    assert [event.type for event in change.events] == ["TURN_TIMEOUT", "GAME_FINISHED"]
    result = change.after().result
    assert result.finish_kind.value == "cancelled"
    assert [place.place for place in result.standings] == [None, None]


def test_the_last_event_reveals_the_seed_and_no_event_before_it_does(deal, rng):
    game = deal(3)
    seed = game.record.info.seed.hex().encode()

    events = list(game.created.events)
    while game.record.result is None:
        events += game.step(rng).events

    assert [seed in event.payload for event in events].index(True) == len(events) - 1
    assert not any(event.private and seed in event.private for event in events)


def test_time_never_goes_back_within_a_game(deal):
    game = deal()

    change = game.judge(game.legal(arrived_ms=NOW_MS - 5000)).change

    assert change.after().updated_ms == NOW_MS
