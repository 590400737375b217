"""Pushes in any order, some lost: what is handed out is in order and complete, or held."""

import random
from dataclasses import dataclass

from realtime.domain.order import MAX_HELD, Order


@dataclass(frozen=True)
class Push:
    from_sequence: int
    to_sequence: int


def order_at(sequence: int) -> Order[Push]:
    order: Order[Push] = Order()
    order.catch_up(sequence)
    return order


def test_a_push_that_follows_is_handed_out_at_once() -> None:
    order = order_at(5)

    assert order.offer(Push(5, 7)) == [Push(5, 7)]

    assert order.sequence == 7
    assert not order.has_gap


def test_an_old_push_is_dropped() -> None:
    order = order_at(7)

    assert order.offer(Push(5, 7)) == []
    assert order.offer(Push(3, 5)) == []

    assert order.sequence == 7


def test_a_push_after_a_gap_is_held_until_what_is_missing_comes() -> None:
    order = order_at(5)

    assert order.offer(Push(6, 8)) == []
    assert order.has_gap
    assert order.offer(Push(5, 6)) == [Push(5, 6), Push(6, 8)]

    assert order.sequence == 8
    assert not order.has_gap


def test_a_view_closes_a_gap_and_what_is_held_follows_it() -> None:
    order = order_at(5)
    order.offer(Push(6, 8))
    order.offer(Push(8, 9))

    assert order.catch_up(8) == [Push(8, 9)]

    assert order.sequence == 9
    assert not order.has_gap


def test_pushes_before_the_first_view_wait_for_it() -> None:
    order: Order[Push] = Order()

    assert order.offer(Push(4, 5)) == []
    assert order.offer(Push(5, 6)) == []
    assert not order.has_gap

    assert order.catch_up(5) == [Push(5, 6)]


def test_a_view_older_than_what_is_known_changes_nothing() -> None:
    order = order_at(9)

    assert order.catch_up(4) == []

    assert order.sequence == 9


def test_a_push_that_raises_no_sequence_is_handed_out_where_it_belongs() -> None:
    order = order_at(5)

    assert order.offer(Push(5, 5)) == [Push(5, 5)]
    assert order.offer(Push(6, 6)) == []
    assert order.offer(Push(6, 7)) == []
    assert order.offer(Push(5, 6)) == [Push(5, 6), Push(6, 6), Push(6, 7)]
    assert order.offer(Push(6, 6)) == []


def test_what_is_held_is_bounded() -> None:
    order = order_at(0)

    for start in range(10, 10 + 2 * MAX_HELD):
        order.offer(Push(start, start + 1))

    assert len(order.catch_up(10)) == MAX_HELD


def test_any_arrival_order_gives_the_order_of_sequences() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        pushes = [Push(n, n + 1) for n in range(20)]
        arriving = [*pushes, *rng.choices(pushes, k=5)]
        rng.shuffle(arriving)
        order = order_at(0)

        handed_out = [ready for push in arriving for ready in order.offer(push)]

        assert handed_out == pushes, f"seed {seed}"
