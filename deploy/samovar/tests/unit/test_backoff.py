"""Delays between restarts."""

from samovar.backoff import Backoff


def test_the_delay_doubles_from_half_a_second_to_thirty_seconds() -> None:
    backoff = Backoff()

    delays = [backoff.after_crash(ran_s=1) for _ in range(9)]

    assert delays == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]


def test_a_stable_minute_makes_up_for_earlier_crashes() -> None:
    backoff = Backoff()
    for _ in range(5):
        backoff.after_crash(ran_s=1)

    assert backoff.after_crash(ran_s=60) == 0.5
    assert backoff.after_crash(ran_s=59) == 1
