"""Messages owned by lobby: rooms and seats (spec §19)."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from shared.contracts.auth import PlayerKind
from shared.contracts.base import Command, Message, Push
from shared.errors import (
    AlreadyJoined,
    Forbidden,
    HoldFailed,
    IdempotencyMismatch,
    InsufficientFunds,
    InvalidBet,
    InvalidRequest,
    RateLimited,
    RoomFull,
    RoomNotFound,
    RoomStarted,
)

# As people type it; what a database cannot hold is no code.
JoinCode = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[^\x00]+$")]
_Name = Annotated[str, Field(max_length=20, pattern=r"^[a-z0-9_]+$")]


class RoomStatus(StrEnum):
    WAITING = "waiting"
    STARTING = "starting"
    PLAYING = "playing"
    FINISHED = "finished"
    CANCELLED = "cancelled"


class SeatState(StrEnum):
    RESERVED = "reserved"  # the stake is being taken
    TAKEN = "taken"


class SeatView(Message):
    seat: int
    player_id: UUID
    nickname: str
    kind: PlayerKind
    state: SeatState


class RoomView(Message):
    """A room as one viewer may see it: ``join_code`` only for those who sit in it.

    ``bet`` is the stake of each player in the smallest unit, None for a friendly game.
    ``version`` grows with every change; older views are to be dropped.
    """

    room_id: UUID
    game_id: UUID
    game: str
    mode: str
    players_count: int
    bet: int | None
    turn_seconds: int
    is_private: bool
    join_code: str | None
    status: RoomStatus
    seats: tuple[SeatView, ...]
    created_at: datetime
    version: int


class CreateRoom(Message):
    """Make a room and seat its maker. Idempotent by (player, request_id)."""

    player_id: UUID
    is_guest: bool
    request_id: UUID
    game: str = Field(max_length=20)
    mode: str = Field(max_length=20)
    players_count: int
    bet: int | None
    turn_seconds: int = 30
    is_private: bool = False


class JoinRoom(Message):
    """Take a seat. Idempotent by (player, request_id); with a stake it places a hold first."""

    player_id: UUID
    is_guest: bool
    request_id: UUID
    room_id: UUID


class JoinByCode(Message):
    player_id: UUID
    is_guest: bool
    request_id: UUID
    join_code: JoinCode


class LeaveRoom(Message):
    """Give up a seat before the start. Leaving a room one does not sit in changes nothing."""

    player_id: UUID
    room_id: UUID


class AddBot(Message):
    """Seat a bot in a friendly room; asked by somebody who sits in it."""

    player_id: UUID
    request_id: UUID
    room_id: UUID


class GetRoom(Message):
    room_id: UUID
    player_id: UUID | None


class ListRooms(Message):
    """Public waiting rooms, newest first; None means any."""

    game: _Name | None = None
    mode: _Name | None = None
    players_count: int | None = Field(default=None, ge=1, le=100)
    friendly: bool | None = None
    cursor: str | None = Field(default=None, max_length=100)
    limit: int = Field(default=50, ge=1, le=100)


class ListPlayerRooms(Message):
    """Rooms of a player that are not over yet."""

    player_id: UUID


class Rooms(Message):
    rooms: tuple[RoomView, ...]
    next_cursor: str | None = None


class CheckSeat(Message):
    """Asked by economy about a hold that outlived its time."""

    hold_id: UUID
    room_id: UUID
    player_id: UUID


class SeatAnswer(Message):
    """``needs_hold``: a seat (reserved or taken) in an unfinished room still rests on this hold."""

    needs_hold: bool


_JOIN_ERRORS = (
    AlreadyJoined, Forbidden, HoldFailed, IdempotencyMismatch, InsufficientFunds, InvalidBet,
    RateLimited, RoomFull, RoomNotFound, RoomStarted,
)  # fmt: skip

CREATE_ROOM = Command(
    "lobby", "create_room", CreateRoom, RoomView, (*_JOIN_ERRORS, InvalidRequest), timeout_s=8.0
)
JOIN_ROOM = Command("lobby", "join_room", JoinRoom, RoomView, _JOIN_ERRORS, timeout_s=8.0)
JOIN_BY_CODE = Command("lobby", "join_by_code", JoinByCode, RoomView, _JOIN_ERRORS, timeout_s=8.0)
LEAVE_ROOM = Command("lobby", "leave_room", LeaveRoom, RoomView, (RoomNotFound, RoomStarted))
ADD_BOT = Command(
    "lobby", "add_bot", AddBot, RoomView,
    (Forbidden, IdempotencyMismatch, InvalidBet, RoomFull, RoomNotFound, RoomStarted),
)  # fmt: skip
GET_ROOM = Command("lobby", "get_room", GetRoom, RoomView, (RoomNotFound,))
LIST_ROOMS = Command("lobby", "list_rooms", ListRooms, Rooms, (InvalidRequest,))
LIST_PLAYER_ROOMS = Command("lobby", "list_player_rooms", ListPlayerRooms, Rooms)
CHECK_SEAT = Command("lobby", "check_seat", CheckSeat, SeatAnswer)

LOBBY_PUSH = Push("lobby", ("lobby",), has_key=False)  # LobbyUpdated frames
