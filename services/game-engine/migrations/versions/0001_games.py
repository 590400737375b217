"""Games, their events, outages and the messaging tables."""

from alembic import op

from shared.bus.outbox import MESSAGING_DDL, messaging_grants

revision = "0001"
down_revision = None

GAME = """
create table game (
  game_id uuid primary key,
  room_id uuid not null,
  request_hash bytea,
  game text not null,
  mode text not null,
  rules_version text not null,
  options bytea not null,
  players uuid[] not null,
  nicknames text[] not null,
  bots boolean[] not null,
  is_private boolean not null,
  has_stake boolean not null,
  status text not null check (status in ('running', 'finished', 'abandoned')),
  sequence bigint not null check (sequence > 0),
  revision bigint not null check (revision > 0),
  fresh_from bigint not null,
  snapshot bytea,
  preferences bytea not null,
  deadline_ms bigint,
  wake_at_ms bigint not null,
  updated_ms bigint not null,
  expiries int not null default 0,
  seed bytea,
  commitment text,
  result bytea,
  started_at timestamptz not null,
  finished_at timestamptz,
  settled_at timestamptz,
  constraint game_seats check (
    cardinality(players) = cardinality(nicknames) and cardinality(players) = cardinality(bots)),
  constraint game_running check (
    (status = 'running') = (result is null) and (status = 'running') = (finished_at is null)
    and (status = 'running') = (deadline_ms is not null)),
  constraint game_created check (
    (status = 'abandoned') = (seed is null) and (seed is null) = (snapshot is null)
    and (seed is null) = (request_hash is null) and (seed is null) = (commitment is null)),
  constraint game_settled check (settled_at is null or (has_stake and status <> 'running'))
) with (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.05);

comment on column game.request_hash is 'content of create_game; null: a tombstone';
comment on column game.revision is 'counts every change, also those that raise no sequence';
comment on column game.fresh_from is 'the lowest sequence of a command that is not stale';
comment on column game.deadline_ms is 'unix ms; not indexed, so that a move is a HOT update';
comment on column game.wake_at_ms is 'when to look at the deadline: never after it';
comment on column game.updated_ms is 'time of the last change: later outages put the deadline off';

-- A room has one game at most; the id of the game follows from the room's.
create unique index game_room on game (room_id);
create index game_wake_at on game (wake_at_ms) where status = 'running';
create index game_players on game using gin (players) where status = 'running';
create index game_bots on game (game_id) where status = 'running' and true = any (bots);
create index game_unsettled on game (finished_at) where has_stake and settled_at is null;
"""

# No foreign key to game: events are inserted by the statement that has just changed the game, and
# the check would cost every move a row lock.
EVENT = """
create table game_event (
  game_id uuid not null,
  sequence bigint not null check (sequence > 0),
  type text not null,
  seat smallint,
  payload bytea not null,
  private bytea,
  at_ms bigint not null,
  request_id uuid,
  player_id uuid,
  body_hash bytea,
  reply_sequence bigint,
  primary key (game_id, sequence),
  constraint game_event_cause check (
    (request_id is null) = (player_id is null) and (request_id is null) = (body_hash is null)
    and (request_id is null) = (reply_sequence is null))
);

comment on column game_event.private is 'JSON by seat: what single seats may see before the end';
comment on column game_event.at_ms is 'unix ms: the time the rules were given';
comment on column game_event.reply_sequence is 'what the player was answered';

create unique index game_event_request on game_event (game_id, player_id, request_id)
  where request_id is not null;

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% of % is refused: events are immutable', tg_op, tg_table_name
    using errcode = 'integrity_constraint_violation';
end $$;

create trigger game_event_immutable before update or delete or truncate on game_event
  for each statement execute function refuse_change();

-- The shape of the specification, for people; private parts included.
create view game_events as
select e.game_id, e.sequence, g.players[e.seat + 1] as player_id, e.type as event_type,
  convert_from(e.payload, 'UTF8')::jsonb
    || coalesce(jsonb_build_object('private', convert_from(e.private, 'UTF8')::jsonb), '{}')
    as payload,
  to_timestamp(e.at_ms / 1000.0) as created_at
from game_event e join game g using (game_id);
"""

OUTAGE = """
create table outage (
  id int primary key generated always as identity,
  from_ms bigint not null,
  to_ms bigint not null,
  check (to_ms > from_ms)
);

create table heartbeat (
  id int primary key check (id = 1),
  beat_ms bigint not null
);
insert into heartbeat values (1, (extract(epoch from clock_timestamp()) * 1000)::bigint);
"""

# The runtime role may change what a game's course changes, and nothing that was fixed at its start.
GRANTS = """
grant select, insert on game to engine_runtime;
grant update (status, sequence, revision, fresh_from, snapshot, preferences, deadline_ms,
  wake_at_ms, updated_ms, expiries, result, finished_at, settled_at) on game to engine_runtime;
grant select, insert on game_event to engine_runtime;
grant select, insert on outage to engine_runtime;
grant select, update on heartbeat to engine_runtime;
"""


def upgrade() -> None:
    for statements in (GAME, EVENT, OUTAGE, MESSAGING_DDL, GRANTS, messaging_grants("engine")):
        for statement in split(statements):
            op.execute(statement)


def split(statements: str) -> list[str]:
    """Split at semicolons that end a line outside of function bodies: asyncpg takes one a time."""
    parts: list[str] = []
    body = False
    current: list[str] = []
    for line in statements.splitlines():
        body ^= line.count("$$") % 2 == 1
        current.append(line)
        if line.endswith(";") and not body:
            parts.append("\n".join(current))
            current = []
    return parts
