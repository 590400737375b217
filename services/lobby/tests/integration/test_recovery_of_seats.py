"""Rows J and L of the crash table: things get lost, and the lobby is killed or restarted."""

import asyncio
import contextlib
from uuid import UUID

from lobby.domain.room import RoomStatus, SeatState
from services.lobby.tests.integration.fakes import Fault
from services.lobby.tests.integration.world import World, eventually
from shared.contracts.economy import (
    PLACE_HOLD,
    RELEASE_HOLD,
    HoldStatus,
    PlaceHold,
    ReleaseHold,
)
from shared.contracts.lobby import CHECK_SEAT, CheckSeat, RoomView
from shared.errors import AppError, HoldFailed
from shared.ids import new_id


async def asked(world: World, room: RoomView, bob: UUID) -> None:
    """Wait until a second player's stake was asked for."""

    async def check() -> bool:
        return any(request.player_id == bob for request in world.economy.requests(PlaceHold))

    await eventually(check)


async def has_seats(world: World, room: RoomView, count: int) -> None:
    async def check() -> bool:
        seats = (await world.stored(room.room_id)).seats
        is_decided = all(seat.state is SeatState.TAKEN for seat in seats)
        return is_decided and len(seats) == count

    await eventually(check)


# --- J: joining -----------------------------------------------------------------------------------


async def test_j1_a_join_that_never_arrived_leaves_nothing_and_is_repeated(world: World) -> None:
    await world.start()
    room = await world.create(new_id(), bet=100, players_count=3)
    bob, request_id = new_id(), new_id()
    await world.stop()
    with contextlib.suppress(AppError):
        await world.join(bob, room.room_id, request_id)
    await world.start()

    assert (await world.stored(room.room_id)).seat_of(bob) is None
    await world.join(bob, room.room_id, request_id)

    assert world.economy.balances[bob] == 900


async def test_j2_an_unanswered_hold_is_given_up_at_its_deadline(world: World) -> None:
    await world.start()
    room = await world.create(new_id(), bet=100, players_count=3)
    await world.restart(hold_deadline_s=1.0)
    bob, request_id = new_id(), new_id()
    world.economy.break_down(PLACE_HOLD)

    for _ in range(2):
        try:
            await world.join(bob, room.room_id, request_id)
        except HoldFailed:
            continue
        raise AssertionError("the seat was taken without a hold")

    await has_seats(world, room, 1)
    await world.outbox_is_empty()
    assert world.economy.only(ReleaseHold).player_id == bob
    assert len({request.hold_id for request in world.economy.requests(PlaceHold)}) == 2


async def test_j2_a_lobby_that_died_is_followed_by_the_sweeper_with_the_same_hold(
    world: World,
) -> None:
    bob = new_id()
    await world.start_process(hold_deadline_s=30.0)
    room = await world.create(new_id(), bet=100, players_count=3)
    world.economy.break_down(PLACE_HOLD)
    joining = asyncio.create_task(world.join(bob, room.room_id))
    await asked(world, room, bob)
    await world.kill(joining)
    world.economy.repair(PLACE_HOLD)
    await world.start()

    await has_seats(world, room, 2)
    assert len({request.hold_id for request in world.economy.requests(PlaceHold)}) == 2
    assert await world.repairs(room.room_id) == ["J3"]


async def test_j2_a_seat_past_its_deadline_is_dropped_after_a_restart(world: World) -> None:
    bob = new_id()
    await world.start()
    room = await world.create(new_id(), bet=100, players_count=3)
    await world.stop()
    await world.start_process(hold_deadline_s=1.0)
    world.economy.break_down(PLACE_HOLD)
    joining = asyncio.create_task(world.join(bob, room.room_id))
    await asked(world, room, bob)
    await world.kill(joining)
    await world.start()

    await has_seats(world, room, 1)
    await world.outbox_is_empty()
    assert await world.repairs(room.room_id) == ["J2"]
    assert world.economy.balances[bob] == 1000


async def test_j3_a_hold_whose_reply_was_lost_and_its_seat_end_together(world: World) -> None:
    bob, request_id = new_id(), new_id()
    await world.start_process(hold_deadline_s=30.0)
    room = await world.create(new_id(), bet=100, players_count=3)
    world.economy.break_down(PLACE_HOLD, Fault.LOSE_REPLY)
    joining = asyncio.create_task(world.join(bob, room.room_id, request_id))

    async def is_held() -> bool:
        return len(world.economy.live()) == 2

    await eventually(is_held)
    await world.kill(joining)
    world.economy.repair(PLACE_HOLD)
    await world.start()

    # The client repeats its request, the sweeper works too: one seat, one hold.
    await world.join(bob, room.room_id, request_id)
    await has_seats(world, room, 2)
    assert world.economy.balances[bob] == 900
    assert len(world.economy.live()) == 2


async def test_j4_a_release_that_overtakes_its_hold_leaves_a_tombstone(world: World) -> None:
    await world.start()
    room = await world.create(new_id(), bet=100, players_count=3)
    await world.restart(hold_deadline_s=1.0)
    world.economy.break_down(PLACE_HOLD)
    bob = new_id()
    with contextlib.suppress(HoldFailed):
        await world.join(bob, room.room_id)
    await world.outbox_is_empty()
    (late,) = {request for request in world.economy.requests(PlaceHold) if request.player_id == bob}
    assert world.economy.holds[late.hold_id].status is HoldStatus.RELEASED
    assert world.economy.balances[bob] == 1000


async def test_j5_economy_hears_which_holds_are_needed(world: World) -> None:
    await world.start()
    ann = new_id()
    room = await world.create(ann, bet=100)
    request = world.economy.only(PlaceHold)

    async def needs(hold_id: UUID) -> bool:
        question = CheckSeat(hold_id=hold_id, room_id=room.room_id, player_id=ann)
        return (await world.economy.bus.call(CHECK_SEAT, question)).needs_hold

    assert await needs(request.hold_id)
    assert not await needs(new_id())
    await world.leave(ann, room.room_id)
    assert not await needs(request.hold_id)


# --- L: leaving and waiting -----------------------------------------------------------------------


async def test_l1_a_release_survives_a_restart(world: World) -> None:
    await world.start()
    ann = new_id()
    room = await world.create(ann, bet=100)
    world.economy.break_down(RELEASE_HOLD)
    await world.leave(ann, room.room_id)
    await world.stop()
    assert len(world.economy.live()) == 1
    world.economy.repair(RELEASE_HOLD)

    # A row that a dead relay had claimed is free again after its claim.
    await world.rows("update outbox set available_at = clock_timestamp() returning id")
    await world.start()

    await world.outbox_is_empty()
    assert world.economy.balances[ann] == 1000


async def test_l2_a_room_that_waits_too_long_is_cancelled_and_pays_back(world: World) -> None:
    await world.start()
    ann, bob = new_id(), new_id()
    room = await world.create(ann, bet=100, players_count=3)
    await world.join(bob, room.room_id)

    await world.rows("update room set expires_at = clock_timestamp() returning room_id")
    await world.becomes(room.room_id, RoomStatus.CANCELLED)

    await world.outbox_is_empty()
    assert world.economy.balances == {ann: 1000, bob: 1000}
    assert await world.repairs(room.room_id) == ["L2"]
    await world.pushed("lobby", "LOBBY_UPDATED", removed=str(room.room_id))


async def test_l2_the_time_to_live_comes_from_the_settings_and_outlives_a_restart(
    world: World,
) -> None:
    await world.start(room_ttl_s=1.0, sweep_interval_s=60.0)
    room = await world.create(new_id())
    await world.restart()

    stored = await world.becomes(room.room_id, RoomStatus.CANCELLED)

    assert (stored.expires_at - stored.created_at).total_seconds() == 1.0
    assert await world.repairs(room.room_id) == ["L2"]
