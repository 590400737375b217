"""A room as one viewer may see it."""

from uuid import UUID

from lobby.domain.room import Room
from shared.contracts.auth import PlayerKind
from shared.contracts.lobby import RoomStatus, RoomView, SeatState, SeatView


def view(room: Room, viewer_id: UUID | None) -> RoomView:
    """Show a room; the join code only to those who sit in it."""
    terms = room.terms
    return RoomView(
        room_id=room.room_id,
        game_id=room.game_id,
        game=terms.game,
        mode=terms.mode,
        players_count=terms.players_count,
        bet=terms.bet,
        turn_seconds=terms.turn_seconds,
        is_private=terms.is_private,
        join_code=room.join_code if room.seat_of(viewer_id) else None,
        status=RoomStatus(room.status.value),
        seats=tuple(
            SeatView(
                seat=seat.number,
                player_id=seat.player.player_id,
                nickname=seat.player.nickname,
                kind=PlayerKind(seat.player.kind.value),
                state=SeatState(seat.state.value),
            )
            for seat in room.seats
        ),
        created_at=room.created_at,
        version=room.version,
    )
