"""``/v1/rooms``: make, find, join and leave rooms (lobby)."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from realtime.rest.access import ERRORS, Caller, RequestId, UseFacade, is_guest
from shared.contracts.lobby import (
    ADD_BOT,
    CREATE_ROOM,
    GET_ROOM,
    JOIN_BY_CODE,
    JOIN_ROOM,
    LEAVE_ROOM,
    LIST_PLAYER_ROOMS,
    LIST_ROOMS,
    AddBot,
    CreateRoom,
    GetRoom,
    JoinByCode,
    JoinCode,
    JoinRoom,
    LeaveRoom,
    ListPlayerRooms,
    ListRooms,
    Rooms,
    RoomView,
)

router = APIRouter(prefix="/v1", tags=["rooms"], responses=ERRORS)


class Body(BaseModel):
    """Bodies refuse what they do not know, and take no number for a string."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewRoom(Body):
    """A room to be made; ``bet`` is each player's stake, none for a friendly game."""

    game: str = Field(max_length=20, examples=["durak"])
    mode: str = Field(max_length=20, examples=["throw_in"])
    players_count: int = Field(examples=[2])
    bet: int | None = Field(default=None, examples=[100])
    turn_seconds: int = 30
    is_private: bool = False


class CodeOfRoom(Body):
    join_code: JoinCode


@router.get("/rooms")
async def list_rooms(
    facade: UseFacade, _caller: Caller, wanted: Annotated[ListRooms, Query()]
) -> Rooms:
    """List public waiting rooms, newest first."""
    return await facade.backend.ask(LIST_ROOMS, wanted)


@router.post("/rooms", status_code=201)
async def create_room(
    facade: UseFacade, caller: Caller, request_id: RequestId, room: NewRoom
) -> RoomView:
    """Make a room and sit down in it; a stake is held at once."""
    request = CreateRoom(
        player_id=caller.player_id,
        is_guest=is_guest(caller),
        request_id=request_id,
        **room.model_dump(),
    )
    return await facade.backend.ask(CREATE_ROOM, request)


@router.post("/rooms/join-by-code")
async def join_by_code(
    facade: UseFacade, caller: Caller, request_id: RequestId, body: CodeOfRoom
) -> RoomView:
    """Sit down in the private room of a code."""
    await facade.limit_seats(caller.player_id)
    request = JoinByCode(
        player_id=caller.player_id,
        is_guest=is_guest(caller),
        request_id=request_id,
        join_code=body.join_code,
    )
    return await facade.backend.ask(JOIN_BY_CODE, request)


@router.get("/rooms/{room_id}")
async def get_room(facade: UseFacade, caller: Caller, room_id: UUID) -> RoomView:
    """Show a room; its join code only to those who sit in it."""
    return await facade.backend.ask(GET_ROOM, GetRoom(room_id=room_id, player_id=caller.player_id))


@router.post("/rooms/{room_id}/join")
async def join_room(
    facade: UseFacade, caller: Caller, request_id: RequestId, room_id: UUID
) -> RoomView:
    """Sit down; a stake is held at once. The last player to sit down starts the game."""
    await facade.limit_seats(caller.player_id)
    request = JoinRoom(
        player_id=caller.player_id,
        is_guest=is_guest(caller),
        request_id=request_id,
        room_id=room_id,
    )
    return await facade.backend.ask(JOIN_ROOM, request)


@router.post("/rooms/{room_id}/leave")
async def leave_room(facade: UseFacade, caller: Caller, room_id: UUID) -> RoomView:
    """Get up before the game starts; a stake comes back."""
    await facade.limit_seats(caller.player_id)
    request = LeaveRoom(player_id=caller.player_id, room_id=room_id)
    return await facade.backend.ask(LEAVE_ROOM, request)


@router.post("/rooms/{room_id}/add-bot")
async def add_bot(
    facade: UseFacade, caller: Caller, request_id: RequestId, room_id: UUID
) -> RoomView:
    """Give a free seat of a friendly room to a bot."""
    request = AddBot(player_id=caller.player_id, request_id=request_id, room_id=room_id)
    return await facade.backend.ask(ADD_BOT, request)


@router.get("/me/rooms")
async def my_rooms(facade: UseFacade, caller: Caller) -> Rooms:
    """List the rooms one sits in that are not over."""
    request = ListPlayerRooms(player_id=caller.player_id)
    return await facade.backend.ask(LIST_PLAYER_ROOMS, request)
