-- The only writer of balances. Once for each statement that inserts transfers, each account once.

create function apply_transfers() returns trigger language plpgsql security definer
set search_path = economy, pg_temp as $$
declare
  wrong record;
begin
  perform 1 from account
    where id in (select debit_id from added union select credit_id from added)
      and kind in ('player', 'escrow')
    order by id for no key update;

  -- After the locks: capture and settlement of a room change the escrow's row, so what is read here
  -- is true until this transaction ends.
  select added.idempotency_key as key,
    case
      when settlement.finalized_at is not null then 'escrow_finalized'
      when added.reason = 'bet' and settlement.game_id is not null then 'room_captured'
      else 'transfer_accounts' end as violation
    into wrong
  from added
    join account debit on debit.id = added.debit_id
    join account credit on credit.id = added.credit_id
    left join settlement on settlement.room_id = added.room_id
  where settlement.finalized_at is not null
    or (added.reason = 'bet' and settlement.game_id is not null)
    or (added.reason, debit.kind, credit.kind) not in (
      ('bet', 'player', 'escrow'), ('payout', 'escrow', 'player'), ('refund', 'escrow', 'player'),
      ('rake', 'escrow', 'house'), ('grant', 'mint', 'player'),
      ('admin_adjustment', 'mint', 'player'), ('admin_adjustment', 'player', 'mint'))
    or (debit.kind = 'escrow' and debit.owner_id <> added.room_id)
    or (credit.kind = 'escrow' and credit.owner_id <> added.room_id)
    or (added.game_id is not null and added.game_id is distinct from settlement.game_id)
  limit 1;
  if found then
    raise exception 'transfer % is refused: %', wrong.key, wrong.violation
      using errcode = 'integrity_constraint_violation', constraint = wrong.violation;
  end if;

  update account set
    balance = account.balance + change.amount,
    held = account.held + change.stake,
    version = account.version + 1
  from (
    select account_id, sum(amount)::bigint as amount, sum(stake)::bigint as stake
    from (
      select debit_id as account_id, -amount as amount,
        case reason when 'bet' then amount else 0 end as stake
      from added
      union all
      -- A payout ends the whole stake, whatever it pays; who gets nothing: close_stakes().
      select added.credit_id, added.amount,
        case added.reason when 'refund' then -added.amount when 'payout' then -settlement.bet
          else 0 end
      from added left join settlement on settlement.room_id = added.room_id
    ) leg
    group by account_id
  ) change
  where account.id = change.account_id and account.kind in ('player', 'escrow');
  return null;
end $$;
create trigger apply_transfers after insert on transfer
  referencing new table as added
  for each statement execute function apply_transfers();
