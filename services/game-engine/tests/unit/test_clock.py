"""The offset between PostgreSQL's clock and this machine's."""

import time

from game_engine.clock import DatabaseClock


def offset_ms(clock):
    return clock.now_ms() - time.monotonic() * 1000


def test_the_measurement_with_the_shortest_round_trip_counts():
    clock = DatabaseClock()

    clock.measure(1_000_000, 10.0, 10.2)
    clock.measure(1_000_500, 10.5, 10.51)
    clock.measure(9_000_000, 11.0, 13.0)

    assert abs(offset_ms(clock) - (1_000_500 - 10_505)) < 20


def test_an_old_measurement_gives_way_to_a_worse_one():
    clock = DatabaseClock()

    clock.measure(1_000_000, 10.0, 10.0)
    clock.measure(2_000_000, 100.0, 102.0)

    assert abs(offset_ms(clock) - (2_000_000 - 101_000)) < 20


def test_a_process_that_stood_still_measures_anew():
    clock = DatabaseClock()
    clock.measure(1_000_000, 10.0, 10.0)

    clock.forget()
    clock.measure(2_000_000, 11.0, 12.0)

    assert abs(offset_ms(clock) - (2_000_000 - 11_500)) < 20
