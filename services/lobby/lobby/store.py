"""All SQL about rooms, seats and join requests.

Order of locks: the player (advisory), then the room's row; seats only under their room's lock.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, text

from lobby.domain.room import Hold, Kind, Player, Room, RoomStatus, Seat, SeatState
from lobby.domain.terms import Terms
from shared.db import Tx
from shared.ids import GameId, HoldId, PlayerId, RoomId

_ROOM = """room_id, game_id, game, mode, players_count, bet, turn_seconds, is_private, join_code,
    payout_config_version, status, created_at, expires_at, starting_at, captured_at, settled_at,
    version"""
_SEAT = """room_id, seat, player_id, nickname, kind, state, request_id,
    hold_id, hold_deadline_at, hold_expires_at"""


async def now(tx: Tx) -> datetime:
    """Return the database's time: the one clock of all replicas."""
    row = await tx.execute(text("select clock_timestamp()"))
    moment: datetime = row.scalar_one()
    return moment


async def lock_player(tx: Tx, player_id: UUID) -> None:
    """Make the player's other requests wait until this transaction ends."""
    await tx.execute(
        text("select pg_advisory_xact_lock(hashtextextended(:key, 0))"),
        {"key": f"player {player_id}"},
    )


# --- rooms ----------------------------------------------------------------------------------------


async def insert_room(tx: Tx, room: Room) -> None:
    terms = room.terms
    await tx.execute(
        text("""
            insert into room (room_id, game_id, game, mode, players_count, bet, turn_seconds,
              is_private, join_code, payout_config_version, created_at, expires_at)
            values (:room_id, :game_id, :game, :mode, :players_count, :bet, :turn_seconds,
              :is_private, :join_code, :payout_config_version, :created_at, :expires_at)
        """),
        {
            "room_id": room.room_id, "game_id": room.game_id, "game": terms.game,
            "mode": terms.mode, "players_count": terms.players_count, "bet": terms.bet,
            "turn_seconds": terms.turn_seconds, "is_private": terms.is_private,
            "join_code": room.join_code, "payout_config_version": room.payout_config_version,
            "created_at": room.created_at, "expires_at": room.expires_at,
        },
    )  # fmt: skip


async def find_room(tx: Tx, room_id: UUID) -> Room | None:
    """Return a room with its seats as one snapshot (the lock is not needed for reading)."""
    rooms = await _rooms(tx, "room_id = :room_id", {"room_id": room_id})
    return rooms[0] if rooms else None


async def lock_room(tx: Tx, room_id: UUID) -> Room | None:
    """Lock a room until the end of the transaction and return it with its seats."""
    await tx.execute(
        text("select 1 from room where room_id = :room_id for no key update"), {"room_id": room_id}
    )
    return await find_room(tx, room_id)


async def room_of_code(tx: Tx, join_code: str) -> UUID | None:
    row = await tx.execute(
        text("select room_id from room where join_code = :code"), {"code": join_code}
    )
    found: UUID | None = row.scalar_one_or_none()
    return found


async def room_of_game(tx: Tx, game_id: UUID) -> UUID | None:
    row = await tx.execute(
        text("select room_id from room where game_id = :game_id"), {"game_id": game_id}
    )
    found: UUID | None = row.scalar_one_or_none()
    return found


async def set_status(tx: Tx, room_id: UUID, status: RoomStatus) -> None:
    """Move a locked room on; the moment goes into the column of the new status."""
    await tx.execute(
        text("""
            update room set status = :status, version = version + 1,
              starting_at = case when :status = 'starting' then clock_timestamp()
                else starting_at end,
              playing_at = case when :status = 'playing' then clock_timestamp()
                else playing_at end,
              over_at = case when :status in ('finished', 'cancelled') then clock_timestamp()
                else over_at end
            where room_id = :room_id
        """),
        {"room_id": room_id, "status": status.value},
    )


async def set_captured(tx: Tx, room_id: UUID) -> None:
    """Mark a room; the version stays, because no view shows it."""
    await tx.execute(
        text("""
            update room set captured_at = clock_timestamp()
            where room_id = :room_id and captured_at is null
        """),
        {"room_id": room_id},
    )


async def set_settled(tx: Tx, room_id: UUID) -> None:
    """Mark a room; the version stays, because no view shows it."""
    await tx.execute(
        text("""
            update room set settled_at = clock_timestamp()
            where room_id = :room_id and settled_at is null
        """),
        {"room_id": room_id},
    )


async def bump(tx: Tx, room_id: UUID) -> None:
    """Raise the version after a change of seats."""
    await tx.execute(
        text("update room set version = version + 1 where room_id = :room_id"),
        {"room_id": room_id},
    )


# --- lists ----------------------------------------------------------------------------------------


async def list_waiting(
    tx: Tx, filters: dict[str, Any], before: UUID | None, limit: int
) -> list[Room]:
    """Return public waiting rooms, newest first (room ids grow with time).

    Args:
        tx: Transaction.
        filters: game, mode, players_count, friendly; None means any.
        before: Last room of the page before.
        limit: Most rooms to return.
    """
    return await _rooms(
        tx,
        """status = 'waiting' and not is_private and expires_at > clock_timestamp()
          and (cast(:game as text) is null or game = :game)
          and (cast(:mode as text) is null or mode = :mode)
          and (cast(:players_count as int) is null or players_count = :players_count)
          and (cast(:friendly as boolean) is null or (bet is null) = :friendly)
          and (cast(:before as uuid) is null or room_id < :before)
          order by room_id desc limit :limit""",
        {**filters, "before": before, "limit": limit},
    )


async def list_of_player(tx: Tx, player_id: UUID) -> list[Room]:
    """Return the rooms of a player that are not over, newest first."""
    return await _rooms(
        tx,
        """status in ('waiting', 'starting', 'playing')
          and room_id in (select room_id from seat where player_id = :player_id)
          order by room_id desc""",
        {"player_id": player_id},
    )


async def count_waiting(tx: Tx, player_id: UUID) -> int:
    """Return in how many waiting rooms a player sits."""
    row = await tx.execute(
        text("""
            select count(*) from seat join room using (room_id)
            where player_id = :player_id and status = 'waiting'
        """),
        {"player_id": player_id},
    )
    count: int = row.scalar_one()
    return count


# --- seats ----------------------------------------------------------------------------------------


async def insert_seat(tx: Tx, room_id: UUID, seat: Seat) -> None:
    hold = seat.hold
    await tx.execute(
        text(f"""
            insert into seat ({_SEAT})
            values (:room_id, :seat, :player_id, :nickname, :kind, :state, :request_id,
              :hold_id, :hold_deadline_at, :hold_expires_at)
        """),  # noqa: S608  # a constant of this module
        {
            "room_id": room_id, "seat": seat.number, "player_id": seat.player.player_id,
            "nickname": seat.player.nickname, "kind": seat.player.kind.value,
            "state": seat.state.value, "request_id": seat.request_id,
            "hold_id": hold.hold_id if hold else None,
            "hold_deadline_at": hold.deadline_at if hold else None,
            "hold_expires_at": hold.expires_at if hold else None,
        },
    )  # fmt: skip


async def take_seat(tx: Tx, room_id: UUID, number: int) -> None:
    await tx.execute(
        text("update seat set state = 'taken' where room_id = :room_id and seat = :seat"),
        {"room_id": room_id, "seat": number},
    )


async def delete_seat(tx: Tx, room_id: UUID, number: int) -> None:
    await tx.execute(
        text("delete from seat where room_id = :room_id and seat = :seat"),
        {"room_id": room_id, "seat": number},
    )


async def seat_needs_hold(tx: Tx, hold_id: UUID, room_id: UUID, player_id: UUID) -> bool:
    row = await tx.execute(
        text("""
            select exists (select from seat join room using (room_id)
              where hold_id = :hold_id and room_id = :room_id and player_id = :player_id
                and status in ('waiting', 'starting', 'playing'))
        """),
        {"hold_id": hold_id, "room_id": room_id, "player_id": player_id},
    )
    found: bool = row.scalar_one()
    return found


async def _rooms(tx: Tx, where: str, values: dict[str, Any]) -> list[Room]:
    # One statement, so that a room and its seats are of the same moment.
    result = await tx.execute(
        text(f"""
            with chosen as (select {_ROOM} from room where {where})
            select chosen.*, s.seat, s.player_id, s.nickname, s.kind, s.state, s.request_id,
              s.hold_id, s.hold_deadline_at, s.hold_expires_at
            from chosen left join seat s using (room_id)
            order by chosen.room_id desc, s.seat
        """),  # noqa: S608  # conditions are constants of this module
        values,
    )
    grouped: dict[UUID, list[Row[Any]]] = {}
    for row in result:
        grouped.setdefault(row.room_id, []).append(row)
    return [_to_room(rows) for rows in grouped.values()]


def _to_room(rows: Sequence[Row[Any]]) -> Room:
    row = rows[0]
    return Room(
        room_id=RoomId(row.room_id),
        game_id=GameId(row.game_id),
        terms=Terms(
            row.game, row.mode, row.players_count, row.bet, row.turn_seconds, row.is_private
        ),
        join_code=row.join_code,
        payout_config_version=row.payout_config_version,
        status=RoomStatus(row.status),
        seats=tuple(_to_seat(seat) for seat in rows if seat.seat is not None),
        created_at=row.created_at,
        expires_at=row.expires_at,
        starting_at=row.starting_at,
        captured_at=row.captured_at,
        settled_at=row.settled_at,
        version=row.version,
    )


def _to_seat(row: Row[Any]) -> Seat:
    hold = None
    if row.hold_id is not None:
        hold = Hold(HoldId(row.hold_id), row.hold_deadline_at, row.hold_expires_at)
    player = Player(PlayerId(row.player_id), row.nickname, Kind(row.kind))
    return Seat(row.seat, player, SeatState(row.state), row.request_id, hold)
