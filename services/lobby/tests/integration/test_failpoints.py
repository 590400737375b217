"""kill -9 at every named place of joining, starting and leaving; a new process goes on."""

import asyncio

import pytest

from lobby.domain.room import RoomStatus, SeatState
from services.lobby.tests.integration.world import World, eventually
from shared.contracts.economy import HoldStatus
from shared.ids import new_id

pytestmark = pytest.mark.chaos

JOIN = ("lobby.join.seat_reserved", "lobby.join.hold_placed", "lobby.join.seat_taken")
START = ("lobby.start.starting", "lobby.start.captured", "lobby.start.created")


@pytest.mark.parametrize("failpoint", [*JOIN, *START])
async def test_a_join_and_start_killed_anywhere_end_in_one_game_with_all_stakes(
    world: World, failpoint: str
) -> None:
    # The maker's own seat passes the same places; so another replica makes the room.
    await world.start()
    ann, bob, request_id = new_id(), new_id(), new_id()
    room = await world.create(ann, bet=100)
    await world.stop()
    await world.start_process(failpoint, sweep_interval_s=60.0, hold_deadline_s=30.0)
    await world.killed(asyncio.create_task(world.join(bob, room.room_id, request_id)))

    await world.start()
    again = await world.join(bob, room.room_id, request_id)

    assert any(seat.player_id == bob for seat in again.seats)
    await world.becomes(room.room_id, RoomStatus.PLAYING)
    assert world.economy.balances == {ann: 900, bob: 900}
    assert len(world.economy.holds) == 2
    assert len(world.engine.games) == 1


@pytest.mark.parametrize("failpoint", JOIN[:2])
async def test_a_join_nobody_repeats_never_leaves_a_hold_without_a_seat(
    world: World, failpoint: str
) -> None:
    await world.start()
    bob = new_id()
    room = await world.create(new_id(), bet=100, players_count=3)
    await world.stop()
    await world.start_process(failpoint, sweep_interval_s=60.0)
    await world.killed(asyncio.create_task(world.join(bob, room.room_id)))

    await world.start()

    async def is_decided() -> bool:
        seats = (await world.stored(room.room_id)).seats
        return all(seat.state is SeatState.TAKEN for seat in seats)

    await eventually(is_decided)
    await world.outbox_is_empty()
    is_seated = (await world.stored(room.room_id)).seat_of(bob) is not None
    held = [hold for hold in world.economy.live() if hold.player_id == bob]
    assert len(held) == int(is_seated)
    assert world.economy.balances[bob] == (900 if is_seated else 1000)


async def test_a_leave_killed_after_its_decision_still_pays_back(world: World) -> None:
    await world.start()
    ann = new_id()
    room = await world.create(ann, bet=100)
    await world.stop()
    await world.start_process("lobby.leave.decided")
    await world.killed(asyncio.create_task(world.leave(ann, room.room_id)))

    # A row that the dead relay had claimed is free again after its claim.
    await world.rows("update outbox set available_at = clock_timestamp() returning id")
    await world.start()

    await world.outbox_is_empty()
    assert (await world.stored(room.room_id)).status is RoomStatus.CANCELLED
    assert {hold.status for hold in world.economy.holds.values()} == {HoldStatus.RELEASED}
