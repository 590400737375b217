"""How much time an outage gives back."""

import pytest

from game_engine.domain.outages import Outage, Outages


@pytest.mark.parametrize(
    ("updated", "deadline", "owed"),
    [
        (0, 30, 60),  # stood through all of it
        (0, 10, 0),  # had come when it began
        (0, 11, 60),
        (40, 70, 30),  # changed in the middle of it
        (70, 100, 0),  # changed at its end: paid
        (80, 110, 0),
    ],
)
def test_the_deadline_is_put_off_by_what_of_it_fell_into_the_turn(updated, deadline, owed):
    assert Outages([Outage(10, 70)]).owed_ms(updated, deadline) == owed


def test_a_second_outage_before_the_extended_deadline_counts_too():
    outages = Outages([Outage(10, 70)])
    outages.add(Outage(80, 95))

    assert outages.owed_ms(0, 30) == 75
    assert outages.last_end_ms == 95
