"""The queue before the batches."""

from uuid import UUID

from game_engine.queue import CommandQueue, Pending


def pending(game, number=0):
    return Pending(UUID(int=game), seen_sequence=number)


def names(batch):
    return [(item.game_id.int, item.seen_sequence) for item in batch]


def test_a_batch_has_one_command_of_each_game_and_keeps_their_order():
    queue = CommandQueue(10)
    for game, number in [(1, 1), (1, 2), (2, 1), (1, 3)]:
        assert queue.put(pending(game, number))

    assert names(queue.take(10)) == [(1, 1), (2, 1)]
    assert names(queue.take(10)) == [(1, 2)]
    assert names(queue.take(10)) == [(1, 3)]
    assert queue.take(10) == []


def test_a_busy_game_does_not_starve_the_others():
    queue = CommandQueue(100)
    for number in range(50):
        queue.put(pending(1, number))
    queue.put(pending(2))

    queue.take(1)

    assert names(queue.take(1)) == [(2, 0)]


def test_a_full_queue_refuses_but_takes_back_what_it_gave():
    queue = CommandQueue(2)
    assert queue.put(pending(1))
    assert queue.put(pending(2))

    assert not queue.put(pending(3))
    (first,) = queue.take(1)
    assert queue.put(pending(3))
    queue.put_back(first)

    assert len(queue) == 3


def test_what_is_put_back_comes_first_of_its_game():
    queue = CommandQueue(10)
    queue.put(pending(1, 1))
    queue.put(pending(1, 2))
    (first,) = queue.take(1)

    queue.put_back(first)

    assert names(queue.take(1)) == [(1, 1)]
