from datetime import UTC, datetime
from uuid import UUID

from shared import clock, ids


def test_new_ids_are_uuid7_and_grow():
    made = [ids.new_id() for _ in range(100)]

    assert {i.version for i in made} == {7}
    assert made == sorted(made)


def test_the_game_of_a_room_is_known_from_the_room():
    room = UUID(int=5)

    assert ids.game_of_room(room) == ids.game_of_room(room)
    assert ids.game_of_room(room) != ids.game_of_room(UUID(int=6))


def test_milliseconds_survive_the_way_through_a_datetime():
    for value in (0, 1, 999, 1_700_000_000_001, 1_700_000_000_999, 4_102_444_800_123):
        assert clock.to_ms(clock.from_ms(value)) == value
    assert clock.from_ms(1000) == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)


def test_a_manual_clock_moves_only_when_told():
    manual = clock.ManualClock(5_000)

    manual.advance(1.5)

    assert manual.now_ms() == 6_500
