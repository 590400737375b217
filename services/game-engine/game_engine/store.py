"""The SQL of moves and deadlines, on connections of their own (a pool's reset query is dear).

Lock order: rows of ``game`` by ascending id; those that are locked are skipped, so that a write
waits for nobody and no two of them deadlock.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from msgspec import Struct

from game_engine.connection import Connection
from game_engine.domain.change import Change
from game_engine.domain.judge import StoredReply
from game_engine.domain.record import GameRecord, encode_json
from game_engine.rows import (
    CHANGING,
    FIXED,
    encode_preferences,
    read_info,
    read_record,
)
from shared.bus.outbox import OutboxRow

# Columns of a game that is cached as it is stored are left out, one by one: a record of them would
# need a decoder for each of its types.
_IF_CHANGED: Final = ", ".join(
    f"case when g.revision <> q.revision then g.{c} end" for c in CHANGING
)
_IF_NEW: Final = ", ".join(f"case when q.revision = 0 then g.{c} end" for c in FIXED)

LOAD: Final = f"""
select q.ordinal::int, g.revision <> q.revision, e.body_hash, e.reply_sequence,
  {_IF_CHANGED}, {_IF_NEW}
from unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::uuid[]) with ordinality
  as q(game_id, revision, player_id, request_id, ordinal)
join game g on g.game_id = q.game_id and g.status <> 'abandoned'
left join game_event e on e.game_id = q.game_id and e.player_id = q.player_id
  and e.request_id = q.request_id
"""  # noqa: S608  # column names of ours

WRITE: Final = """
with input as (
  select * from unnest(
    $1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[], $7::bigint[],
    $8::bigint[], $9::int[], $10::text[], $11::bytea[], $12::uuid[], $13::uuid[], $14::bytea[]
  ) with ordinality as i(
    game_id, expected, sequence, fresh_from, snapshot, preferences, deadline_ms,
    updated_ms, expiries, status, result, player_id, request_id, body_hash, ordinal)
), locked as (
  select i.* from input i join game g on g.game_id = i.game_id and g.revision = i.expected
  order by g.game_id for no key update of g skip locked
), won as (
  update game g set
    revision = g.revision + 1, sequence = l.sequence, fresh_from = l.fresh_from,
    snapshot = l.snapshot, preferences = coalesce(l.preferences, g.preferences),
    deadline_ms = l.deadline_ms, wake_at_ms = least(g.wake_at_ms, l.deadline_ms),
    updated_ms = l.updated_ms, expiries = l.expiries, status = l.status, result = l.result,
    finished_at = case when l.status = 'finished' then to_timestamp(l.updated_ms / 1000.0) end
  from locked l where g.game_id = l.game_id and g.revision = l.expected
  returning l.ordinal::int, l.game_id, l.sequence, l.updated_ms, l.player_id, l.request_id,
    l.body_hash
), events as (
  insert into game_event (game_id, sequence, type, seat, payload, private, at_ms,
    player_id, request_id, body_hash, reply_sequence)
  select w.game_id, e.sequence, e.type, e.seat, e.payload, e.private, w.updated_ms,
    case when e.is_cause then w.player_id end, case when e.is_cause then w.request_id end,
    case when e.is_cause then w.body_hash end, case when e.is_cause then w.sequence end
  from unnest($15::int[], $16::bigint[], $17::text[], $18::smallint[], $19::bytea[],
    $20::bytea[], $21::boolean[]) as e(ordinal, sequence, type, seat, payload, private, is_cause)
  join won w on w.ordinal = e.ordinal
), messages as (
  insert into outbox (id, kind, subject, payload)
  select m.id, m.kind, m.subject, m.payload
  from unnest($22::int[], $23::uuid[], $24::text[], $25::text[], $26::bytea[])
    as m(ordinal, id, kind, subject, payload)
  join won w on w.ordinal = m.ordinal
)
select ordinal from won
"""

DUE: Final = """
select game_id, sequence, deadline_ms, updated_ms from game
where status = 'running' and wake_at_ms <= $1 order by wake_at_ms limit $2
"""

SLEEP: Final = """
with locked as (
  select g.game_id, s.wake_at_ms
  from unnest($1::uuid[], $2::bigint[], $3::bigint[]) as s(game_id, deadline_ms, wake_at_ms)
  join game g on g.game_id = s.game_id and g.status = 'running' and g.deadline_ms = s.deadline_ms
  order by g.game_id for no key update of g skip locked
)
update game g set wake_at_ms = l.wake_at_ms from locked l where g.game_id = l.game_id
"""


class Wanted(Struct, frozen=True):
    """What to load for one command: the game, and an earlier answer to the same request."""

    game_id: UUID
    cached: GameRecord | None
    player_id: UUID | None = None
    request_id: UUID | None = None


class Loaded(Struct, frozen=True):
    """The game as it is stored now (None: no such game), and the earlier answer."""

    record: GameRecord | None
    reply: StoredReply | None


_NOTHING = Loaded(None, None)
_CHANGING_FROM: Final = 4
_FIXED_FROM: Final = _CHANGING_FROM + len(CHANGING)


async def load(connection: Connection, wanted: Sequence[Wanted]) -> list[Loaded]:
    """Read what a batch needs in one statement; only games that changed are read in full."""
    loaded = [_NOTHING] * len(wanted)
    rows = await connection.fetch(
        LOAD,
        [item.game_id for item in wanted],
        [0 if item.cached is None else item.cached.revision for item in wanted],
        [item.player_id for item in wanted],
        [item.request_id for item in wanted],
    )
    for row in rows:
        ordinal, is_changed, digest, reply_sequence = row[0], row[1], row[2], row[3]
        record = wanted[ordinal - 1].cached
        if is_changed:
            info = read_info(row[_FIXED_FROM:]) if record is None else record.info
            record = read_record(info, row[_CHANGING_FROM:_FIXED_FROM])
        reply = None if digest is None else StoredReply(digest, reply_sequence)
        loaded[ordinal - 1] = Loaded(record, reply)
    return loaded


async def write(
    connection: Connection,
    changes: Sequence[Change],
    afters: Sequence[GameRecord],
    messages: Sequence[tuple[int, OutboxRow]],
) -> set[int]:
    """Commit changes whose games are as they were loaded; return the indices of those that won.

    ``messages`` go to the outbox with the change of the given index.
    """
    events = [
        (ordinal, event) for ordinal, change in enumerate(changes, 1) for event in change.events
    ]
    causes = [change.cause for change in changes]
    rows = await connection.fetch(
        WRITE,
        [after.info.game_id for after in afters],
        [change.before.revision for change in changes],
        [after.sequence for after in afters],
        [after.fresh_from for after in afters],
        [after.info.rules.encode_state(after.state) for after in afters],
        [
            None if change.preference is None else encode_preferences(after.preferences)
            for change, after in zip(changes, afters, strict=True)
        ],
        [after.deadline_ms for after in afters],
        [after.updated_ms for after in afters],
        [after.expiries for after in afters],
        [after.status.value for after in afters],
        [None if after.result is None else encode_json(after.result) for after in afters],
        [None if cause is None else cause.player_id for cause in causes],
        [None if cause is None else cause.request_id for cause in causes],
        [None if cause is None else cause.body_hash for cause in causes],
        [ordinal for ordinal, _ in events],
        [event.sequence for _, event in events],
        [event.type for _, event in events],
        [event.seat for _, event in events],
        [event.payload for _, event in events],
        [event.private for _, event in events],
        [event.is_cause for _, event in events],
        [index + 1 for index, _ in messages],
        [row.id for _, row in messages],
        [row.kind for _, row in messages],
        [row.subject for _, row in messages],
        [row.payload for _, row in messages],
    )
    return {ordinal - 1 for (ordinal,) in rows}


class Due(Struct, frozen=True):
    """A running game whose deadline is to be looked at."""

    game_id: UUID
    sequence: int
    deadline_ms: int
    updated_ms: int


async def due_games(connection: Connection, now_ms: int, limit: int) -> list[Due]:
    """List games whose wake-up time has come; takes no lock."""
    return [Due(*row) for row in await connection.fetch(DUE, now_ms, limit)]


async def sleep_until(connection: Connection, games: Sequence[tuple[Due, int]]) -> None:
    """Put off the next look at games whose deadline is still to come and has not changed."""
    await connection.fetch(
        SLEEP,
        [due.game_id for due, _ in games],
        [due.deadline_ms for due, _ in games],
        [wake_at_ms for _, wake_at_ms in games],
    )
