"""Tells clients what happened to a room, after the commit and at most once.

A client that missed a push sees it by the room's version when it asks again.
"""

from uuid import UUID

import msgspec

from lobby.changes import Change
from lobby.domain.room import Kind, Room, Seat
from lobby.views import view
from shared.bus import Bus
from shared.contracts.lobby import LOBBY_PUSH
from shared.contracts.realtime import USER_PUSH, frame


class Notices:
    """Pushes to those who sit in a room, and to those who watch the list of public rooms."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def tell(self, change: Change | None) -> None:
        """Push everything that follows from a change."""
        if change is None or not change.is_visible:
            return
        frames = []
        if change.joined is not None:
            frames.append(_seat_frame("PLAYER_JOINED", change.room, change.joined))
        if change.left is not None:
            frames.append(_seat_frame("PLAYER_LEFT", change.room, change.left))
        for seat in change.room.seats:
            if seat.player.kind is not Kind.BOT:
                await self._tell_player(seat.player.player_id, frames, change.room)
        await self._tell_lobby(change)

    async def _tell_player(self, player_id: UUID, frames: list[bytes], room: Room) -> None:
        for content in frames:
            await self._bus.push(USER_PUSH, player_id, content)
        updated = frame("ROOM_UPDATED", room=_raw_view(room, player_id))
        await self._bus.push(USER_PUSH, player_id, updated)

    async def _tell_lobby(self, change: Change) -> None:
        room = change.room
        if room.is_listed:
            content = frame("LOBBY_UPDATED", room=_raw_view(room, None))
            await self._bus.push(LOBBY_PUSH, None, content)
        elif change.was_listed:
            await self._bus.push(LOBBY_PUSH, None, frame("LOBBY_UPDATED", removed=room.room_id))


def _seat_frame(type_: str, room: Room, seat: Seat) -> bytes:
    return frame(
        type_,
        room_id=room.room_id,
        seat=seat.number,
        player_id=seat.player.player_id,
        nickname=seat.player.nickname,
    )


def _raw_view(room: Room, viewer_id: UUID | None) -> msgspec.Raw:
    return msgspec.Raw(view(room, viewer_id).model_dump_json().encode())
