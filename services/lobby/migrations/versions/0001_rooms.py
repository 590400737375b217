"""Rooms, seats, requests that took them, and what recovery did."""

from alembic import op

from shared.bus.outbox import MESSAGING_DDL, messaging_grants

revision = "0001"
down_revision = None

ROOM = """
create table room (
  room_id uuid primary key,
  game_id uuid not null unique,
  game text not null,
  mode text not null,
  players_count int not null check (players_count between 2 and 4),
  bet bigint check (bet > 0),
  turn_seconds int not null check (turn_seconds between 10 and 120),
  is_private boolean not null,
  join_code text unique check (length(join_code) >= 16),
  payout_config_version int not null,
  status text not null default 'waiting'
    check (status in ('waiting', 'starting', 'playing', 'finished', 'cancelled')),
  created_at timestamptz not null,
  expires_at timestamptz not null check (expires_at > created_at),
  starting_at timestamptz,
  playing_at timestamptz,
  over_at timestamptz,
  captured_at timestamptz,
  settled_at timestamptz,
  swept_at timestamptz,
  version bigint not null default 1,
  -- What the sweeper may have to look at.
  is_live boolean not null generated always as (
    status in ('waiting', 'starting', 'playing')
    or (captured_at is not null and settled_at is null)) stored,
  check (is_private = (join_code is not null)),
  check (status in ('waiting', 'cancelled') or starting_at is not null),
  check (status not in ('playing', 'finished') or playing_at is not null),
  check ((status in ('finished', 'cancelled')) = (over_at is not null)),
  check (captured_at is null or (bet is not null and starting_at is not null)),
  -- No game for money before its stakes are captured.
  check (playing_at is null or bet is null or captured_at is not null),
  check (settled_at is null or captured_at is not null)
);
create index room_live on room (room_id) where is_live;
create index room_listed on room (room_id) where status = 'waiting' and not is_private;

create table seat (
  room_id uuid not null references room,
  seat int not null check (seat between 0 and 3),
  player_id uuid not null,
  nickname text not null,
  kind text not null check (kind in ('registered', 'guest', 'bot')),
  state text not null check (state in ('reserved', 'taken')),
  request_id uuid not null,
  reserved_at timestamptz not null default clock_timestamp(),
  hold_id uuid unique,
  hold_deadline_at timestamptz,
  hold_expires_at timestamptz,
  primary key (room_id, seat),
  unique (room_id, player_id),
  check ((hold_id is null) = (hold_deadline_at is null)),
  check ((hold_id is null) = (hold_expires_at is null)),
  check (state = 'taken' or hold_id is not null),
  check (kind = 'registered' or hold_id is null)
);
create index seat_player on seat (player_id, room_id);

create table join_request (
  player_id uuid not null,
  request_id uuid not null,
  body_hash bytea not null,
  room_id uuid not null references room,
  outcome text check (outcome = 'taken' or outcome like 'ERR\\_%'),
  created_at timestamptz not null default clock_timestamp(),
  primary key (player_id, request_id)
);
create index join_request_created_at on join_request (created_at);

create table recovery_event (
  id uuid primary key,
  room_id uuid not null references room,
  crash_row text not null,
  action text not null,
  created_at timestamptz not null default clock_timestamp()
);
create index recovery_event_room on recovery_event (room_id);
"""

# The same table as lobby/domain/room.py; a test compares the two.
ROOM_GUARD = """
create function room_guard() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.status <> 'waiting' then
      raise exception 'a room begins waiting' using errcode = 'check_violation';
    end if;
    return new;
  end if;
  if (new.room_id, new.game_id, new.game, new.mode, new.players_count, new.bet, new.turn_seconds,
      new.is_private, new.join_code, new.payout_config_version, new.created_at)
    is distinct from
     (old.room_id, old.game_id, old.game, old.mode, old.players_count, old.bet, old.turn_seconds,
      old.is_private, old.join_code, old.payout_config_version, old.created_at) then
    raise exception 'the terms of a room never change' using errcode = 'check_violation';
  end if;
  if new.status <> old.status and (old.status, new.status) not in (
      ('waiting', 'starting'), ('starting', 'playing'), ('playing', 'finished'),
      ('waiting', 'cancelled'), ('starting', 'cancelled')) then
    raise exception 'a % room cannot become %', old.status, new.status
      using errcode = 'check_violation';
  end if;
  if new.status = 'starting' and old.status = 'waiting' and new.players_count <>
      (select count(*) from seat where room_id = new.room_id and state = 'taken') then
    raise exception 'a room starts with every seat taken' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger room_guard before insert or update on room
  for each row execute function room_guard();
"""

SEAT_GUARD = """
create function seat_guard() returns trigger language plpgsql as $$
declare
  place record;
begin
  -- The caller holds the room's lock.
  select status, players_count, bet into place from room
    where room_id = coalesce(new.room_id, old.room_id);
  if place.status <> 'waiting' then
    raise exception 'the seats of a % room are fixed', place.status
      using errcode = 'check_violation';
  end if;
  if tg_op = 'DELETE' then
    return old;
  end if;
  if new.seat >= place.players_count then
    raise exception 'the room has no seat %', new.seat using errcode = 'check_violation';
  end if;
  if (place.bet is null) <> (new.hold_id is null) then
    raise exception 'a seat rests on a hold exactly where there is a bet'
      using errcode = 'check_violation';
  end if;
  if tg_op = 'UPDATE' and (new.state = 'reserved'
      or (new.room_id, new.seat, new.player_id, new.kind, new.hold_id) is distinct from
         (old.room_id, old.seat, old.player_id, old.kind, old.hold_id)) then
    raise exception 'a seat only goes from reserved to taken' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger seat_guard before insert or update or delete on seat
  for each row execute function seat_guard();
"""

GRANTS = """
grant select, insert on room to lobby_runtime;
grant update (status, starting_at, playing_at, over_at, captured_at, settled_at, swept_at, version)
  on room to lobby_runtime;
grant select, insert, delete on seat to lobby_runtime;
grant update (state) on seat to lobby_runtime;
grant select, insert, delete on join_request to lobby_runtime;
grant update (outcome) on join_request to lobby_runtime;
grant select, insert on recovery_event to lobby_runtime;
"""


def upgrade() -> None:
    for statements in (MESSAGING_DDL, ROOM, ROOM_GUARD, SEAT_GUARD, GRANTS):
        _run(statements)
    _run(messaging_grants("lobby"))


def _run(statements: str) -> None:
    # asyncpg prepares each statement, so they go one by one; functions end with "$$;".
    for statement in _split(statements):
        op.execute(statement)


def _split(text: str) -> list[str]:
    parts: list[str] = []
    current = ""
    for line in text.splitlines(keepends=True):
        current += line
        is_inside_function = current.count("$$") % 2 == 1
        if line.rstrip().endswith(";") and not is_inside_function:
            parts.append(current)
            current = ""
    return parts
