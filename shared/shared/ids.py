"""Typed identifiers. Made by the caller: uuid7, or uuid5 where a retry must hit the same row."""

from typing import NewType
from uuid import UUID, uuid5

from uuid_utils.compat import uuid7 as _uuid7

PlayerId = NewType("PlayerId", UUID)
RoomId = NewType("RoomId", UUID)
GameId = NewType("GameId", UUID)
HoldId = NewType("HoldId", UUID)

_NAMESPACE = UUID("5a0b8f5e-6c1d-5d0e-9a52-6f9a3d1e7c44")


def new_id() -> UUID:
    """Return a fresh uuid7: unique, and ordered by time of making."""
    return UUID(int=_uuid7().int)


def game_of_room(room_id: UUID) -> GameId:
    """Return the id of the one game a room can have, known before the game exists."""
    return GameId(uuid5(_NAMESPACE, f"game:{room_id}"))


def bot_id(number: int) -> PlayerId:
    """Return the id of the bot account with this number (0, 1, …)."""
    return PlayerId(uuid5(_NAMESPACE, f"bot:{number}"))
