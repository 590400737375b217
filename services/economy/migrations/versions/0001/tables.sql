-- Double entry with single-row transfers. Money is a bigint in the smallest unit.

create table account (
  id bigint generated always as identity primary key,
  kind text not null constraint account_kind check (kind in ('player', 'escrow', 'house', 'mint')),
  -- A player, or a room (escrow); nil for house and mint, of which there is one each.
  owner_id uuid not null,
  balance bigint not null default 0,
  -- A player's stakes in escrows, neither given back nor settled yet.
  held bigint not null default 0,
  -- Grows with every change of balance or held.
  version bigint not null default 0,
  constraint account_owner unique (owner_id, kind),
  constraint account_single check
    ((kind in ('house', 'mint')) = (owner_id = '00000000-0000-0000-0000-000000000000')),
  constraint account_balance_floor check (balance >= 0),
  constraint account_held_floor check (held >= 0),
  -- House and mint would be hot rows; their balance is the sum of their transfers.
  constraint account_running_balance check
    (kind in ('player', 'escrow') or (balance = 0 and version = 0)),
  constraint account_held_by_players check (kind = 'player' or held = 0)
) with (fillfactor = 70);

create table transfer (
  id uuid primary key,
  idempotency_key text not null constraint transfer_once unique,
  debit_id bigint not null constraint transfer_debit_account references account (id),
  credit_id bigint not null constraint transfer_credit_account references account (id),
  amount bigint not null constraint transfer_amount check (amount > 0),
  reason text not null constraint transfer_reason check
    (reason in ('bet', 'payout', 'refund', 'rake', 'admin_adjustment', 'grant')),
  room_id uuid,
  game_id uuid,
  created_at timestamptz not null default clock_timestamp(),
  constraint transfer_two_accounts check (debit_id <> credit_id),
  constraint transfer_names_room check
    ((room_id is not null) = (reason in ('bet', 'payout', 'refund', 'rake'))),
  -- A refund names the game if a settlement pays it, none if a hold is released.
  constraint transfer_names_game check (case
    when reason in ('payout', 'rake') then game_id is not null
    when reason <> 'refund' then game_id is null
    else true end)
);
create index transfer_debit on transfer (debit_id, id);
create index transfer_credit on transfer (credit_id, id);

create table hold (
  hold_id uuid primary key,
  player_id uuid not null,
  room_id uuid not null,
  amount bigint not null constraint hold_amount check (amount > 0),
  status text not null constraint hold_status check (status in ('held', 'captured', 'released')),
  expires_at timestamptz not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create unique index hold_live on hold (room_id, player_id) where status <> 'released';
create index hold_released on hold (room_id) where status = 'released';
create index hold_expiry on hold (expires_at) where status = 'held';

create table payout_config (
  version int not null,
  players_count int not null constraint payout_config_players check (players_count between 2 and 4),
  place int not null,
  numerator int not null constraint payout_config_numerator check (numerator >= 0),
  denominator int not null constraint payout_config_denominator check (denominator > 0),
  primary key (version, players_count, place),
  constraint payout_config_place check (place between 1 and players_count)
);

create table settlement (
  game_id uuid primary key,
  room_id uuid not null constraint settlement_room unique,
  holders uuid[] not null constraint settlement_holders check (cardinality(holders) between 2 and 4),
  bet bigint not null constraint settlement_bet check (bet > 0),
  pool bigint not null,
  payout_config_version int not null,
  captured_at timestamptz not null default clock_timestamp(),
  -- When the sweeper asks the engine about this game.
  next_check_at timestamptz not null,
  finish_kind text constraint settlement_finish_kind check
    (finish_kind in ('normal', 'forfeit', 'cancelled')),
  -- In the order of the holders; null where the game gave no place.
  places int[],
  forfeiter uuid,
  request_hash bytea,
  finalized_at timestamptz,
  constraint settlement_pool check (pool = bet * cardinality(holders)),
  constraint settlement_result check
    (num_nulls(finish_kind, places, request_hash, finalized_at) in (0, 4)),
  constraint settlement_places check (cardinality(places) = cardinality(holders)),
  constraint settlement_forfeiter check (coalesce(finish_kind = 'forfeit', false)
    = (forfeiter is not null) and (forfeiter is null or forfeiter = any (holders)))
) with (fillfactor = 80);
create index settlement_open on settlement (next_check_at) where finalized_at is null;

-- Who corrected a balance by hand, and why.
create table adjustment (
  ticket text not null,
  player_id uuid not null,
  amount bigint not null constraint adjustment_amount check (amount <> 0),
  note text not null,
  actor text not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (ticket, player_id)
);

-- What the sweeper repaired; crash_row is the row of the crash table (J5, S5).
create table recovery_event (
  id uuid primary key,
  crash_row text not null,
  action text not null,
  room_id uuid not null,
  subject_id uuid not null,
  created_at timestamptz not null default clock_timestamp()
);

insert into account (kind, owner_id) values
  ('house', '00000000-0000-0000-0000-000000000000'),
  ('mint', '00000000-0000-0000-0000-000000000000');
