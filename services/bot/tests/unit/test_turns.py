"""Which turns are played, and how many at once."""

import asyncio
import contextlib
from uuid import UUID, uuid4

import msgspec
import pytest

from bot.settings import Settings
from bot.turns import Turns
from shared.contracts.engine import BotTurn
from shared.ids import bot_id

RAW = msgspec.Raw(b"{}")


def turn(sequence: int, *, game_id: UUID | None = None) -> BotTurn:
    return BotTurn(game_id or uuid4(), bot_id(0), 0, "durak", "1", sequence, RAW, RAW)


class Played:
    """Records turns; each play waits for ``release`` to be called."""

    def __init__(self) -> None:
        self.turns: list[BotTurn] = []
        self._started: asyncio.Queue[BotTurn] = asyncio.Queue()
        self._gates: asyncio.Queue[None] = asyncio.Queue()

    async def __call__(self, turn: BotTurn) -> None:
        self.turns.append(turn)
        self._started.put_nowait(turn)
        await self._gates.get()

    async def next(self) -> BotTurn:
        async with asyncio.timeout(5):
            return await self._started.get()

    def release(self, count: int = 1) -> None:
        for _ in range(count):
            self._gates.put_nowait(None)


@contextlib.asynccontextmanager
async def running(turns: Turns):
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(turns.run(stop))
        yield
        stop.set()


async def test_a_turn_offered_twice_is_played_once_while_it_is_known():
    played = Played()
    turns = Turns(played, lambda: 0, max_thinking=4)
    first, other = turn(7), turn(1)

    turns.offer(first)
    turns.offer(first)
    async with running(turns):
        await played.next()
        turns.offer(first)
        played.release(2)
        turns.offer(other)
        await played.next()

    assert played.turns == [first, other]


async def test_a_later_turn_replaces_the_one_that_waits():
    played = Played()
    turns = Turns(played, lambda: 0, max_thinking=4)
    game_id = uuid4()

    for sequence in (5, 9, 7):
        turns.offer(turn(sequence, game_id=game_id))
    async with running(turns):
        await played.next()
        played.release()

    assert [turn.sequence for turn in played.turns] == [9]


async def test_a_later_turn_that_comes_during_play_is_played_after_it():
    played = Played()
    turns = Turns(played, lambda: 0, max_thinking=4)
    game_id = uuid4()

    turns.offer(turn(5, game_id=game_id))
    async with running(turns):
        await played.next()
        turns.offer(turn(6, game_id=game_id))
        played.release(2)
        await played.next()

    assert [turn.sequence for turn in played.turns] == [5, 6]


async def test_no_more_seats_are_played_at_once_than_allowed():
    played = Played()
    turns = Turns(played, lambda: 0, max_thinking=2)
    for _ in range(5):
        turns.offer(turn(1))

    async with running(turns):
        await played.next()
        await played.next()
        assert len(played.turns) == 2
        played.release(5)
        for _ in range(3):
            await played.next()

    assert len(played.turns) == 5


async def test_a_turn_that_fails_does_not_stop_the_others():
    played = Played()
    bad, good = turn(1), turn(1)

    async def play(turn: BotTurn) -> None:
        if turn is bad:
            raise RuntimeError("a bug")
        await played(turn)

    turns = Turns(play, lambda: 0, max_thinking=1)
    turns.offer(bad)
    turns.offer(good)
    async with running(turns):
        assert await played.next() is good
        played.release()


def test_thinking_times_must_be_in_order():
    with pytest.raises(ValueError, match="think_max_s"):
        Settings(
            nats_url="nats://127.0.0.1",
            nats_user="bot",
            nats_password="secret",
            think_min_s=2,
            think_max_s=1,
        )
