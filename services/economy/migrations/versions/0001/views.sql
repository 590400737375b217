-- The specification's own shapes (§5), money fields only.

create view players as
  select owner_id as id, balance as money from account where kind = 'player';

create view balance_holds as
  select hold_id as id, player_id, room_id, amount, status, created_at, updated_at from hold;

-- One row for each transfer: player_id null is the house; the sign is the player's (or house's).
create view transactions as
  select
    transfer.id,
    case when debit.kind = 'player' then debit.owner_id
      when credit.kind = 'player' then credit.owner_id end as player_id,
    transfer.game_id,
    case when debit.kind = 'player' then -transfer.amount else transfer.amount end as amount,
    transfer.reason,
    transfer.idempotency_key,
    transfer.created_at
  from transfer
    join account debit on debit.id = transfer.debit_id
    join account credit on credit.id = transfer.credit_id;

create view games as
  select game_id as id, room_id, pool, finish_kind, payout_config_version, finalized_at
  from settlement;
