"""SQL beside the rooms: requests already seen, what the sweeper claims, what recovery did."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import text

from shared.db import Tx
from shared.ids import RoomId, new_id

TAKEN = "taken"
CLAIM_LIMIT = 200
PURGE_BATCH = 1000


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a player that takes a seat; ``body_hash`` tells another one under its id."""

    player_id: UUID
    request_id: UUID
    body_hash: bytes


@dataclass(frozen=True, slots=True)
class Known:
    """A request seen before. ``outcome``: TAKEN, an error code, or None while it is open."""

    room_id: RoomId
    body_hash: bytes
    outcome: str | None


async def find_request(tx: Tx, player_id: UUID, request_id: UUID) -> Known | None:
    result = await tx.execute(
        text("""
            select room_id, body_hash, outcome from join_request
            where player_id = :player_id and request_id = :request_id
        """),
        {"player_id": player_id, "request_id": request_id},
    )
    row = result.one_or_none()
    return Known(RoomId(row.room_id), bytes(row.body_hash), row.outcome) if row else None


async def insert_request(tx: Tx, request: Request, room_id: UUID, outcome: str | None) -> None:
    await tx.execute(
        text("""
            insert into join_request (player_id, request_id, body_hash, room_id, outcome)
            values (:player_id, :request_id, :body_hash, :room_id, :outcome)
        """),
        {
            "player_id": request.player_id, "request_id": request.request_id,
            "body_hash": request.body_hash, "room_id": room_id, "outcome": outcome,
        },
    )  # fmt: skip


async def close_request(tx: Tx, player_id: UUID, request_id: UUID, outcome: str) -> None:
    """Store the outcome of an open request; the first outcome stays."""
    await tx.execute(
        text("""
            update join_request set outcome = :outcome
            where player_id = :player_id and request_id = :request_id and outcome is null
        """),
        {"player_id": player_id, "request_id": request_id, "outcome": outcome},
    )


@dataclass(frozen=True, slots=True)
class Patience:
    """How long things may stand still before the sweeper looks.

    Attributes:
        stuck: A reserved seat or a starting room.
        playing: A room whose game has not reported its end.
        unsettled: A room that is over and whose stakes are not settled.
    """

    stuck: timedelta
    playing: timedelta
    unsettled: timedelta


async def claim_idle(tx: Tx, patience: Patience) -> list[UUID]:
    """Mark the rooms that stand still as looked at, and return them.

    Another replica passes over them until their time has run out once more; rooms that are
    locked right now are moving and are left out.
    """
    result = await tx.execute(
        text("""
            with moment as (
              select clock_timestamp() as now,
                make_interval(secs => :stuck_s) as stuck,
                make_interval(secs => :playing_s) as playing,
                make_interval(secs => :unsettled_s) as unsettled)
            update room set swept_at = clock_timestamp()
            where room_id in (
              select r.room_id from room r, moment
              where r.is_live and case r.status
                when 'waiting' then
                  coalesce(r.swept_at < now - stuck, true)
                  and (r.expires_at <= now or exists (select from seat s
                    where s.room_id = r.room_id and s.state = 'reserved'
                      and s.reserved_at < now - stuck))
                when 'starting' then greatest(r.starting_at, r.swept_at) < now - stuck
                when 'playing' then greatest(r.playing_at, r.swept_at) < now - playing
                else greatest(r.over_at, r.swept_at) < now - unsettled
              end
              order by r.swept_at nulls first limit :limit
              for no key update of r skip locked)
            returning room_id
        """),
        {
            "stuck_s": patience.stuck.total_seconds(),
            "playing_s": patience.playing.total_seconds(),
            "unsettled_s": patience.unsettled.total_seconds(),
            "limit": CLAIM_LIMIT,
        },
    )
    return [row.room_id for row in result]


async def insert_recovery(tx: Tx, room_id: UUID, crash_row: str, action: str) -> None:
    """Record that the sweeper repaired something (a row of the crash table)."""
    await tx.execute(
        text("""
            insert into recovery_event (id, room_id, crash_row, action)
            values (:id, :room_id, :crash_row, :action)
        """),
        {"id": new_id(), "room_id": room_id, "crash_row": crash_row, "action": action},
    )


async def purge_requests(tx: Tx, age: timedelta) -> int:
    """Forget one batch of requests that nobody repeats any more; return how many."""
    result = await tx.execute(
        text("""
            delete from join_request where (player_id, request_id) in (
              select player_id, request_id from join_request
              where created_at < now() - make_interval(secs => :age_s)
              order by created_at limit :batch)
        """),
        {"age_s": age.total_seconds(), "batch": PURGE_BATCH},
    )
    return result.rowcount
