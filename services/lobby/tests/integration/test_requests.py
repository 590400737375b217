import asyncio

import pytest

from services.lobby.tests.integration.world import World
from shared.contracts import lobby as contract
from shared.contracts.economy import PlaceHold
from shared.errors import (
    IdempotencyMismatch,
    RateLimited,
)
from shared.ids import new_id


async def test_the_same_request_gives_the_same_answer_and_one_hold(world: World) -> None:
    await world.start()
    room = await world.create(new_id(), bet=100, players_count=4)
    bob, request_id = new_id(), new_id()

    answers = await asyncio.gather(*(world.join(bob, room.room_id, request_id) for _ in range(5)))

    assert {answer.room_id for answer in answers} == {room.room_id}
    assert all(any(seat.player_id == bob for seat in answer.seats) for answer in answers)
    assert len({r.hold_id for r in world.economy.requests(PlaceHold) if r.player_id == bob}) == 1
    assert world.economy.balances[bob] == 900


async def test_two_requests_of_one_player_at_once_take_one_seat(world: World) -> None:
    await world.start()
    room = await world.create(new_id(), bet=100, players_count=4)
    bob = new_id()

    answers = await asyncio.gather(
        *(world.join(bob, room.room_id) for _ in range(2)), return_exceptions=True
    )

    assert sorted(type(answer).__name__ for answer in answers) == ["AlreadyJoined", "RoomView"]
    assert world.economy.balances[bob] == 900


async def test_the_same_request_id_for_another_room_is_a_mismatch(world: World) -> None:
    await world.start()
    first, second = await world.create(new_id()), await world.create(new_id())
    bob, request_id = new_id(), new_id()
    await world.join(bob, first.room_id, request_id)

    with pytest.raises(IdempotencyMismatch):
        await world.join(bob, second.room_id, request_id)


async def test_creating_twice_under_one_request_id_makes_one_room(world: World) -> None:
    await world.start()
    ann, request_id = new_id(), new_id()

    first = await world.create(ann, request_id=request_id)
    second = await world.create(ann, request_id=request_id)

    assert first.room_id == second.room_id
    with pytest.raises(IdempotencyMismatch):
        await world.create(ann, request_id=request_id, players_count=4)
    assert len(await world.rows("select room_id from room")) == 1


async def test_a_player_sits_in_three_waiting_rooms_at_most(world: World) -> None:
    await world.start()
    ann = new_id()
    rooms = [await world.create(ann) for _ in range(3)]
    other = await world.create(new_id())

    with pytest.raises(RateLimited):
        await world.create(ann)
    with pytest.raises(RateLimited):
        await world.join(ann, other.room_id)
    await world.leave(ann, rooms[0].room_id)

    assert (await world.join(ann, other.room_id)).status is contract.RoomStatus.STARTING


async def test_many_creations_at_once_respect_the_limit(world: World) -> None:
    await world.start()
    ann = new_id()

    answers = await asyncio.gather(*(world.create(ann) for _ in range(6)), return_exceptions=True)

    assert sum(isinstance(answer, RateLimited) for answer in answers) == 3
