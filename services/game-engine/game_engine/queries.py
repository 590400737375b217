"""SQL beside the hot path: creation, views, audit, settlement. Lock order: one game at a time."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import structlog
from msgspec import Struct
from sqlalchemy import text

from game_engine.domain.change import NewEvent
from game_engine.domain.outages import Outage
from game_engine.domain.record import GameRecord, Outcome, Status, encode_json
from game_engine.domain.replay import StoredRow
from game_engine.rows import (
    CHANGING,
    CHANGING_SQL,
    FIXED,
    FIXED_SQL,
    decode_result,
    encode_preferences,
    read_info,
    read_record,
)
from shared.db import Tx

log = structlog.get_logger()


class Beat(Struct, frozen=True):
    """PostgreSQL's time, and the outages that were not known before, by id."""

    database_ms: int
    outages: list[tuple[int, Outage]]


async def beat(tx: Tx, gap_ms: int, known_id: int, *, is_up: bool) -> Beat:
    """Tell the time and the outages; if players can play, advance the heartbeat.

    A gap since the last beat of any replica becomes one outage.
    """
    database_ms = await (_advance(tx, gap_ms) if is_up else _read_clock(tx))
    rows = await tx.execute(
        text("select id, from_ms, to_ms from outage where id > :known order by id"),
        {"known": known_id},
    )
    return Beat(database_ms, [(r[0], Outage(r[1], r[2])) for r in rows])


async def _read_clock(tx: Tx) -> int:
    row = await tx.execute(text("select (extract(epoch from clock_timestamp()) * 1000)::bigint"))
    database_ms: int = row.scalar_one()
    return database_ms


async def _advance(tx: Tx, gap_ms: int) -> int:
    row = await tx.execute(
        text("""
            with last as (select beat_ms from heartbeat where id = 1 for no key update),
            present as (select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms),
            gap as (
              insert into outage (from_ms, to_ms)
              select beat_ms, ms from last, present where ms - beat_ms > :gap_ms)
            -- Joined with "last", so that it is read, and locked, before it is changed.
            update heartbeat h set beat_ms = greatest(h.beat_ms, ms) from present, last
            where h.id = 1 returning ms
        """),
        {"gap_ms": gap_ms},
    )
    database_ms: int = row.scalar_one()
    return database_ms


async def insert_game(tx: Tx, record: GameRecord, options: bytes, request_hash: bytes) -> bool:
    """Store a new game; False if its id is taken, be it by a tombstone."""
    info = record.info
    row = await tx.execute(
        text("""
            insert into game (game_id, room_id, request_hash, game, mode, rules_version, options,
              players, nicknames, bots, is_private, has_stake, status, sequence, revision,
              fresh_from, snapshot, preferences, deadline_ms, wake_at_ms, updated_ms, seed,
              commitment, started_at)
            values (:game_id, :room_id, :request_hash, :game, :mode, :rules_version, :options,
              :players, :nicknames, :bots, :is_private, :has_stake, 'running', :sequence,
              :revision, :fresh_from, :snapshot, :preferences, :deadline_ms, :deadline_ms,
              :updated_ms, :seed, :commitment, to_timestamp(cast(:updated_ms as bigint) / 1000.0))
            on conflict (game_id) do nothing
        """),
        {
            "game_id": info.game_id, "room_id": info.room_id, "request_hash": request_hash,
            "game": info.rules.name, "mode": info.mode, "rules_version": info.rules.rules_version,
            "options": options, "players": list(info.players), "nicknames": list(info.nicknames),
            "bots": list(info.bots), "is_private": info.is_private, "has_stake": info.has_stake,
            "sequence": record.sequence, "revision": record.revision,
            "fresh_from": record.fresh_from,
            "snapshot": info.rules.encode_state(record.state),
            "preferences": encode_preferences(record.preferences),
            "deadline_ms": record.deadline_ms, "updated_ms": record.updated_ms,
            "seed": info.seed, "commitment": info.commitment,
        },
    )  # fmt: skip
    return row.rowcount == 1


class Tombstone(Struct, frozen=True):
    """A game that must never start, as it is stored."""

    game_id: UUID
    room_id: UUID
    players: tuple[UUID, ...]
    has_stake: bool
    sequence: int
    result: Outcome
    now_ms: int


async def insert_tombstone(tx: Tx, tombstone: Tombstone) -> bool:
    """Take the id of a game that must never start; False if the game exists."""
    count = len(tombstone.players)
    row = await tx.execute(
        text("""
            insert into game (game_id, room_id, game, mode, rules_version, options, players,
              nicknames, bots, is_private, has_stake, status, sequence, revision, fresh_from,
              preferences, wake_at_ms, updated_ms, result, started_at, finished_at)
            values (:game_id, :room_id, '', '', '', '', :players, :nicknames, :bots, true,
              :has_stake, 'abandoned', :sequence, 1, :sequence, '', :now_ms, :now_ms, :result,
              to_timestamp(cast(:now_ms as bigint) / 1000.0),
              to_timestamp(cast(:now_ms as bigint) / 1000.0))
            on conflict (game_id) do nothing
        """),
        {
            "game_id": tombstone.game_id, "room_id": tombstone.room_id,
            "players": list(tombstone.players), "nicknames": [""] * count, "bots": [False] * count,
            "has_stake": tombstone.has_stake, "sequence": tombstone.sequence,
            "now_ms": tombstone.now_ms, "result": encode_json(tombstone.result),
        },
    )  # fmt: skip
    return row.rowcount == 1


async def insert_events(tx: Tx, game_id: UUID, events: Sequence[NewEvent], at_ms: int) -> None:
    """Append events that no player's request caused."""
    await tx.execute(
        text("""
            insert into game_event (game_id, sequence, type, seat, payload, private, at_ms)
            values (:game_id, :sequence, :type, :seat, :payload, :private, :at_ms)
        """),
        [
            {
                "game_id": game_id, "sequence": event.sequence, "type": event.type,
                "seat": event.seat, "payload": event.payload, "private": event.private,
                "at_ms": at_ms,
            }
            for event in events
        ],
    )  # fmt: skip


class Summary(Struct, frozen=True):
    """What is known of any game, tombstones included."""

    status: Status
    request_hash: bytes | None
    sequence: int
    is_private: bool
    players: tuple[UUID, ...]
    has_stake: bool
    result: Outcome | None
    is_settled: bool


async def get_summary(tx: Tx, game_id: UUID, *, lock: bool = False) -> Summary | None:
    """Read a game's summary; with ``lock``, keep it from changing until the end of ``tx``."""
    sql = """
        select status, request_hash, sequence, is_private, players, has_stake, result,
          settled_at is not null
        from game where game_id = :game_id
    """
    row = (
        await tx.execute(text(sql + " for no key update" if lock else sql), {"game_id": game_id})
    ).one_or_none()
    if row is None:
        return None
    return Summary(
        Status(row[0]), row[1], row[2], row[3], tuple(row[4]), row[5],
        None if row[6] is None else decode_result(row[6]), row[7],
    )  # fmt: skip


async def get_record(tx: Tx, game_id: UUID) -> GameRecord | None:
    """Read a game that was created."""
    records = await _records(tx, "g.game_id = :game_id", {"game_id": game_id})
    return records[0] if records else None


async def list_bot_games(tx: Tx, quiet_since_ms: int, limit: int) -> list[GameRecord]:
    """List running games with bots that have not changed since a moment."""
    return await _records(
        tx,
        "g.status = 'running' and true = any (g.bots) and g.updated_ms <= :since"
        # The newest first: those that wait long for a person must not hide them.
        " order by g.updated_ms desc limit :limit",
        {"since": quiet_since_ms, "limit": limit},
    )


async def _records(tx: Tx, condition: str, parameters: dict[str, Any]) -> list[GameRecord]:
    rows = await tx.execute(
        text(
            f"select {FIXED_SQL}, {CHANGING_SQL} from game g"  # noqa: S608  # names of ours
            f" where g.seed is not null and {condition}"
        ),
        parameters,
    )
    return [record for row in rows if (record := _record(row)) is not None]


def _record(row: Any) -> GameRecord | None:
    """Read one game; one that cannot be read must not hide the others."""
    fixed = len(FIXED)
    try:
        return read_record(read_info(row[:fixed]), row[fixed : fixed + len(CHANGING)])
    except Exception:
        log.exception("game cannot be read", game_id=str(row[0]))
        return None


async def list_running(tx: Tx, player_ids: Sequence[UUID]) -> list[tuple[UUID, list[UUID]]]:
    """List the running games that any of these players sits in, with all their players."""
    rows = await tx.execute(
        text("""
            select game_id, players from game
            where status = 'running' and players && cast(:players as uuid[]) order by game_id
        """),
        {"players": list(player_ids)},
    )
    return [(row[0], list(row[1])) for row in rows]


async def list_sequences(tx: Tx, game_ids: Sequence[UUID]) -> dict[UUID, int]:
    """Read the sequences of those games that were created."""
    rows = await tx.execute(
        text("""
            select game_id, sequence from game
            where game_id = any (cast(:ids as uuid[])) and status <> 'abandoned'
        """),
        {"ids": list(game_ids)},
    )
    return {row[0]: row[1] for row in rows}


async def list_events(tx: Tx, game_id: UUID, after: int, limit: int) -> list[StoredRow]:
    """List events after a sequence, in order."""
    rows = await tx.execute(
        text("""
            select sequence, type, seat, payload, private, at_ms from game_event
            where game_id = :game_id and sequence > :after order by sequence limit :limit
        """),
        {"game_id": game_id, "after": after, "limit": limit},
    )
    return [StoredRow(*row) for row in rows]


async def settle(tx: Tx, game_id: UUID, sequence: int) -> None:
    """Mark a locked game as settled, at the sequence of its last audit event."""
    await tx.execute(
        text("""
            update game set sequence = :sequence, revision = revision + 1,
              settled_at = clock_timestamp()
            where game_id = :game_id
        """),
        {"game_id": game_id, "sequence": sequence},
    )


async def list_unsettled(tx: Tx, older_than_s: float, limit: int) -> list[UUID]:
    """List games with a stake that ended a while ago and were not settled, in any order."""
    rows = await tx.execute(
        text("""
            select game_id from game
            where has_stake and settled_at is null
              and finished_at < clock_timestamp() - make_interval(secs => :older_than_s)
            order by random() limit :limit
        """),
        {"older_than_s": older_than_s, "limit": limit},
    )
    return [row[0] for row in rows]
