-- What never changes, whoever asks: these triggers stop the owner of the tables too.

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% of % is refused: the ledger is append-only', tg_op, tg_table_name
    using errcode = 'restrict_violation', constraint = 'append_only';
end $$;

create trigger transfer_append_only before update or delete or truncate on transfer
  for each statement execute function refuse_change();
create trigger payout_config_append_only before update or delete or truncate on payout_config
  for each statement execute function refuse_change();
create trigger adjustment_append_only before update or delete or truncate on adjustment
  for each statement execute function refuse_change();
create trigger recovery_event_append_only before update or delete or truncate on recovery_event
  for each statement execute function refuse_change();
create trigger account_stays before delete or truncate on account
  for each statement execute function refuse_change();
create trigger hold_stays before delete or truncate on hold
  for each statement execute function refuse_change();
create trigger settlement_stays before delete or truncate on settlement
  for each statement execute function refuse_change();

create function guard_account() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if (new.balance, new.held, new.version) <> (0, 0, 0) then
      raise exception 'an account begins empty'
        using errcode = 'integrity_constraint_violation', constraint = 'account_begins_empty';
    end if;
  elsif (new.id, new.kind, new.owner_id) is distinct from (old.id, old.kind, old.owner_id) then
    raise exception 'an account never changes its owner'
      using errcode = 'integrity_constraint_violation', constraint = 'account_immutable';
  elsif pg_trigger_depth() < 2 then
    -- Depth 1 is this trigger; only the triggers of transfer and settlement come deeper.
    raise exception 'a balance changes only by a transfer'
      using errcode = 'integrity_constraint_violation', constraint = 'account_by_transfer';
  end if;
  return new;
end $$;
create trigger guard_account before insert or update on account
  for each row execute function guard_account();

create function guard_hold() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.status = 'captured' then
      raise exception 'a hold begins held, or released as a tombstone'
        using errcode = 'integrity_constraint_violation', constraint = 'hold_transition';
    end if;
    return new;
  end if;
  if (new.hold_id, new.player_id, new.room_id, new.amount, new.created_at) is distinct from
     (old.hold_id, old.player_id, old.room_id, old.amount, old.created_at) then
    raise exception 'the terms of a hold never change'
      using errcode = 'integrity_constraint_violation', constraint = 'hold_immutable';
  end if;
  if old.status <> 'held' then
    raise exception 'a % hold stays % (asked: %)', old.status, old.status, new.status
      using errcode = 'integrity_constraint_violation', constraint = 'hold_transition';
  end if;
  new.updated_at := clock_timestamp();
  return new;
end $$;
create trigger guard_hold before insert or update on hold
  for each row execute function guard_hold();
