"""What can be asked about rooms; each changes nothing."""

from uuid import UUID

from lobby import store
from lobby.domain.room import Room, check_visible
from shared.contracts.lobby import CheckSeat, ListRooms
from shared.db import Tx
from shared.errors import InvalidRequest


async def get_room(tx: Tx, room_id: UUID, player_id: UUID | None) -> Room:
    """Return a room that the player may see.

    Raises:
        RoomNotFound
    """
    return check_visible(await store.find_room(tx, room_id), player_id)


async def list_rooms(tx: Tx, query: ListRooms) -> tuple[list[Room], str | None]:
    """Return one page of public waiting rooms, newest first, and the cursor of the next one.

    Raises:
        InvalidRequest: the cursor is not one of ours.
    """
    try:
        before = UUID(query.cursor) if query.cursor else None
    except ValueError as error:
        raise InvalidRequest("not a cursor") from error
    filters = query.model_dump(include={"game", "mode", "players_count", "friendly"})
    rooms = await store.list_waiting(tx, filters, before, query.limit + 1)
    page = rooms[: query.limit]
    return page, str(page[-1].room_id) if len(rooms) > query.limit else None


async def list_player_rooms(tx: Tx, player_id: UUID) -> list[Room]:
    """Return the rooms of a player that are not over, newest first."""
    return await store.list_of_player(tx, player_id)


async def needs_hold(tx: Tx, query: CheckSeat) -> bool:
    """Tell whether a seat of a room that is not over rests on this hold."""
    return await store.seat_needs_hold(tx, query.hold_id, query.room_id, query.player_id)
