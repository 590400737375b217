import asyncio

import pytest

from lobby.domain.room import RoomStatus
from services.lobby.tests.integration.fakes import Fault
from services.lobby.tests.integration.world import World, eventually
from shared.contracts import lobby as contract
from shared.contracts.economy import CAPTURE_HOLDS, PLACE_HOLD, RELEASE_HOLD, HoldStatus, PlaceHold
from shared.errors import HoldFailed, RoomNotFound, RoomStarted
from shared.ids import new_id


async def test_leaving_frees_the_seat_and_gives_the_stake_back(world: World) -> None:
    await world.start()
    ann, bob = new_id(), new_id()
    room = await world.create(ann, bet=100, players_count=3)
    await world.join(bob, room.room_id)

    after = await world.leave(ann, room.room_id)

    assert [seat.player_id for seat in after.seats] == [bob]
    assert after.status is contract.RoomStatus.WAITING
    await world.outbox_is_empty()
    assert world.economy.balances == {ann: 1000, bob: 900}
    await world.pushed(bob, "PLAYER_LEFT", player_id=str(ann), seat=0)


async def test_leaving_twice_and_leaving_where_one_does_not_sit_change_nothing(
    world: World,
) -> None:
    await world.start()
    ann, bob = new_id(), new_id()
    room = await world.create(ann, players_count=3)
    await world.join(bob, room.room_id)
    first = await world.leave(bob, room.room_id)

    again = await world.leave(bob, room.room_id)
    stranger = await world.leave(new_id(), room.room_id)

    assert first == again == stranger
    with pytest.raises(RoomNotFound):
        await world.leave(bob, new_id())


async def test_the_last_one_out_cancels_the_room(world: World) -> None:
    await world.start()
    ann = new_id()
    room = await world.create(ann, bet=100)

    after = await world.leave(ann, room.room_id)

    assert after.status is contract.RoomStatus.CANCELLED
    await world.pushed("lobby", "LOBBY_UPDATED", removed=str(room.room_id))
    await world.outbox_is_empty()
    assert world.economy.balances[ann] == 1000


async def test_bots_alone_keep_no_room(world: World) -> None:
    await world.start()
    ann = new_id()
    room = await world.create(ann, players_count=3)
    await world.add_bot(ann, room.room_id)

    after = await world.leave(ann, room.room_id)

    assert after.status is contract.RoomStatus.CANCELLED


async def test_who_left_may_sit_down_again_with_a_new_hold(world: World) -> None:
    await world.start()
    ann, bob = new_id(), new_id()
    room = await world.create(ann, bet=100, players_count=3)
    await world.join(bob, room.room_id)
    await world.leave(bob, room.room_id)
    await world.outbox_is_empty()

    await world.join(bob, room.room_id)

    assert len([hold for hold in world.economy.live() if hold.player_id == bob]) == 1
    assert world.economy.balances[bob] == 900


async def test_sitting_down_again_waits_for_the_former_stake_to_come_back(world: World) -> None:
    await world.start()
    ann, bob = new_id(), new_id()
    room = await world.create(ann, bet=100, players_count=3)
    world.economy.fail(PLACE_HOLD, HoldFailed(retryable=True), HoldFailed(retryable=True))

    await world.join(bob, room.room_id)

    asked = [r for r in world.economy.requests(PlaceHold) if r.player_id == bob]
    assert len({request.hold_id for request in asked}) == 1
    assert world.economy.balances[bob] == 900


async def test_nobody_leaves_a_room_that_is_starting(world: World) -> None:
    await world.start()
    ann, bob = new_id(), new_id()
    room = await world.create(ann, bet=100)
    world.economy.fail(CAPTURE_HOLDS, Fault.LOSE_REQUEST)
    joined = await world.join(bob, room.room_id)

    assert joined.status is contract.RoomStatus.STARTING
    with pytest.raises(RoomStarted):
        await world.leave(ann, room.room_id)
    await world.becomes(room.room_id, RoomStatus.PLAYING)
    with pytest.raises(RoomStarted):
        await world.leave(ann, room.room_id)


@pytest.mark.parametrize("attempt", range(5))
async def test_a_leave_that_races_the_start_wins_wholly_or_not_at_all(
    world: World, attempt: int
) -> None:
    await world.start()
    ann, bob = new_id(), new_id()
    room = await world.create(ann, bet=100)

    left, joined = await asyncio.gather(
        world.leave(ann, room.room_id), world.join(bob, room.room_id), return_exceptions=True
    )

    if isinstance(left, RoomStarted):
        assert isinstance(joined, contract.RoomView)
        await world.becomes(room.room_id, RoomStatus.PLAYING)
        assert world.economy.balances == {ann: 900, bob: 900}
        return
    assert isinstance(left, contract.RoomView)
    stored = await world.stored(room.room_id)
    assert stored.seat_of(ann) is None
    assert stored.status in (RoomStatus.WAITING, RoomStatus.CANCELLED)
    await world.outbox_is_empty()
    is_seated = stored.seat_of(bob) is not None
    assert is_seated == isinstance(joined, contract.RoomView)
    assert world.economy.balances[ann] == 1000
    assert world.economy.balances[bob] == (900 if is_seated else 1000)


async def test_leaving_while_the_stake_is_asked_for_leaves_no_hold(world: World) -> None:
    await world.start()
    bob = new_id()
    room = await world.create(new_id(), bet=100, players_count=3)
    world.economy.break_down(PLACE_HOLD, Fault.LOSE_REPLY)
    joining = asyncio.create_task(world.join(bob, room.room_id))
    await world.pushed(bob, "ROOM_UPDATED")

    await world.leave(bob, room.room_id)

    with pytest.raises(HoldFailed):
        await joining
    await world.outbox_is_empty()
    assert world.economy.balances[bob] == 1000
    assert (await world.stored(room.room_id)).seat_of(bob) is None


async def test_a_release_is_repeated_until_economy_answers(world: World) -> None:
    """L1: the decision is stored, its consequence follows whatever happens."""
    await world.start()
    ann = new_id()
    room = await world.create(ann, bet=100)
    world.economy.break_down(RELEASE_HOLD, Fault.LOSE_REPLY)

    await world.leave(ann, room.room_id)

    async def is_released() -> bool:
        return not world.economy.live()

    await eventually(is_released)
    await world.stop()
    world.economy.repair(RELEASE_HOLD)
    # A row that a stopped relay had claimed is free again after its claim.
    await world.rows("update outbox set available_at = clock_timestamp() returning id")
    await world.start()
    await world.outbox_is_empty()
    assert {hold.status for hold in world.economy.holds.values()} == {HoldStatus.RELEASED}
    assert world.economy.balances[ann] == 1000
