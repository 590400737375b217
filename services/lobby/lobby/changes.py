"""The changes that use cases are made of; each wants the room's lock in the caller's transaction.

Every one returns what those who look at the room must be told after the commit.
"""

from dataclasses import dataclass

from lobby import journal, store
from lobby.domain.room import (
    Hold,
    Player,
    Room,
    RoomChange,
    Seat,
    SeatState,
    next_status,
)
from lobby.journal import TAKEN, Request
from lobby.settings import Limits
from shared.bus import outbox
from shared.contracts.economy import RELEASE_HOLD, ReleaseHold
from shared.db import Tx
from shared.errors import HoldFailed, InvariantBrokenError
from shared.ids import HoldId, RoomId


@dataclass(frozen=True, slots=True)
class Change:
    """What a transaction did.

    ``room`` is the room afterwards, ``was_listed`` whether the public list showed it before.
    ``is_visible`` is false where a view of the room stays the same.
    """

    room: Room
    was_listed: bool
    is_visible: bool = True
    joined: Seat | None = None
    left: Seat | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """Who asks for a seat, by which request, and the hold his stake would get."""

    request: Request
    player: Player
    hold_id: HoldId


async def sit_down(tx: Tx, room: Room, number: int, who: Candidate, limits: Limits) -> Change:
    """Seat a player: at once in a friendly room, else reserved until his stake is held."""
    hold = None
    if room.terms.bet is not None:
        now = await store.now(tx)
        hold = Hold(who.hold_id, now + limits.hold_deadline, now + limits.hold_ttl)
    state = SeatState.RESERVED if hold else SeatState.TAKEN
    seat = Seat(number, who.player, state, who.request.request_id, hold)
    await store.insert_seat(tx, room.room_id, seat)
    await journal.insert_request(tx, who.request, room.room_id, None if hold else TAKEN)
    return await _reseated(tx, room, joined=None if hold else seat)


async def take(tx: Tx, room: Room, seat: Seat) -> Change:
    """Make a reserved seat a taken one: its stake is held."""
    await store.take_seat(tx, room.room_id, seat.number)
    await journal.close_request(tx, seat.player.player_id, seat.request_id, TAKEN)
    return await _reseated(tx, room, joined=seat)


async def vacate(tx: Tx, room: Room, seat: Seat, outcome: str) -> Change:
    """Free a seat of a waiting room and give its stake back; the last person out cancels it.

    The release is sent even if the hold was never placed: economy then refuses it when it comes
    late (J4). ``outcome`` is what the request hears if it is still open.
    """
    await _give_up(tx, room, seat, outcome)
    await store.delete_seat(tx, room.room_id, seat.number)
    rest = await _reload(tx, room.room_id)
    if not rest.has_humans:  # bots have no stakes to give back
        return await move(tx, room, RoomChange.CANCEL, left=seat)
    return await _reseated(tx, room, left=seat)


async def cancel(tx: Tx, room: Room) -> Change:
    """Cancel a room. Before the pivot all stakes go back; after it the engine's result pays."""
    if room.captured_at is None:
        await _release_all(tx, room)
    return await move(tx, room, RoomChange.CANCEL)


async def move(tx: Tx, room: Room, change: RoomChange, left: Seat | None = None) -> Change:
    """Take a room to its next status."""
    await store.set_status(tx, room.room_id, next_status(room.status, change))
    return Change(await _reload(tx, room.room_id), room.is_listed, left=left)


async def mark_captured(tx: Tx, room: Room) -> Change:
    """Remember that the pivot is passed."""
    await store.set_captured(tx, room.room_id)
    return Change(await _reload(tx, room.room_id), room.is_listed, is_visible=False)


async def mark_settled(tx: Tx, room: Room) -> Change:
    """Remember that the stakes are paid out or back."""
    await store.set_settled(tx, room.room_id)
    return Change(await _reload(tx, room.room_id), room.is_listed, is_visible=False)


async def _reseated(
    tx: Tx, room: Room, joined: Seat | None = None, left: Seat | None = None
) -> Change:
    """Finish a change of seats; the last seat taken starts the room in the same transaction."""
    await store.bump(tx, room.room_id)
    fresh = await _reload(tx, room.room_id)
    if fresh.may_start:
        await store.set_status(tx, room.room_id, next_status(fresh.status, RoomChange.START))
        fresh = await _reload(tx, room.room_id)
    return Change(fresh, room.is_listed, joined=joined, left=left)


async def _release_all(tx: Tx, room: Room) -> None:
    for seat in room.seats:
        await _give_up(tx, room, seat, HoldFailed.code)


async def _give_up(tx: Tx, room: Room, seat: Seat, outcome: str) -> None:
    if seat.hold is None:
        return
    await outbox.call(
        tx,
        RELEASE_HOLD,
        ReleaseHold(
            hold_id=seat.hold.hold_id,
            player_id=seat.player.player_id,
            room_id=room.room_id,
            amount=room.stake,
        ),
    )
    await journal.close_request(tx, seat.player.player_id, seat.request_id, outcome)


async def _reload(tx: Tx, room_id: RoomId) -> Room:
    room = await store.find_room(tx, room_id)
    if room is None:
        raise InvariantBrokenError("a locked room exists")
    return room
