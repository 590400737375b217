-- The stakes of a room from hold to settlement, checked as a whole at COMMIT.

-- Brings the check of a room about: see check_room().
create function touch_escrow(room uuid) returns void language plpgsql security definer
set search_path = economy, pg_temp as $$
begin
  update account set version = version + 1 where owner_id = room and kind = 'escrow';
  if not found then
    raise exception 'room % has no escrow', room
      using errcode = 'integrity_constraint_violation', constraint = 'settlement_escrow';
  end if;
end $$;

create function guard_settlement() returns trigger language plpgsql security definer
set search_path = economy, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    if new.finalized_at is not null then
      raise exception 'a settlement begins with the capture'
        using errcode = 'integrity_constraint_violation', constraint = 'settlement_begins_open';
    end if;
    if not exists (select from payout_config
        where version = new.payout_config_version and players_count = cardinality(new.holders)) then
      raise exception 'there is no payout table % for % players', new.payout_config_version,
        cardinality(new.holders) using errcode = 'foreign_key_violation',
        constraint = 'settlement_payout_config';
    end if;
    -- Waits for bets that are on their way into this escrow and refuses those that come later, also
    -- from transactions with an older snapshot: hence a change of the row, not just a lock.
    perform touch_escrow(new.room_id);
    return new;
  end if;
  if (new.game_id, new.room_id, new.holders, new.bet, new.pool, new.payout_config_version,
      new.captured_at) is distinct from
     (old.game_id, old.room_id, old.holders, old.bet, old.pool, old.payout_config_version,
      old.captured_at) then
    raise exception 'what was captured never changes'
      using errcode = 'integrity_constraint_violation', constraint = 'settlement_immutable';
  end if;
  if old.finalized_at is not null then
    raise exception 'game % is finalized', old.game_id
      using errcode = 'integrity_constraint_violation', constraint = 'settlement_final';
  end if;
  return new;
end $$;
create trigger guard_settlement before insert or update on settlement
  for each row execute function guard_settlement();

create function close_stakes() returns trigger language plpgsql security definer
set search_path = economy, pg_temp as $$
begin
  -- Holders without a credit: the transfers of the others have closed theirs.
  update account set held = held - new.bet, version = version + 1
  where kind = 'player' and owner_id = any (new.holders)
    and not exists (
      select from transfer join account escrow on escrow.id = transfer.debit_id
      where escrow.kind = 'escrow' and escrow.owner_id = new.room_id
        and transfer.game_id = new.game_id and transfer.credit_id = account.id);
  perform touch_escrow(new.room_id);
  return null;
end $$;
create trigger close_stakes after update of finalized_at on settlement
  for each row when (old.finalized_at is null and new.finalized_at is not null)
  execute function close_stakes();

-- What a finalized game must have paid: computed anew from its result and the sealed table.
create function check_payout(game settlement, escrow bigint) returns void
language plpgsql security definer set search_path = economy, pg_temp as $$
declare
  players int := cardinality(game.holders);
begin
  if game.finish_kind = 'normal'
    and (select array_agg(place order by place) from unnest(game.places) place)
      is distinct from (select array_agg(n) from generate_series(1, players) n) then
    raise exception 'the places of game % are no permutation', game.game_id
      using errcode = 'integrity_constraint_violation', constraint = 'settlement_permutation';
  end if;
  -- Each owner's due against what he was credited. The house has the rest of the pool due to it, so
  -- the sum of all is the pool.
  if exists (
    with due as (
      select holder as owner_id, 'player' as kind,
        case game.finish_kind
          when 'normal' then
            div(game.pool::numeric * share.numerator, share.denominator::numeric)::bigint
          when 'forfeit' then case when holder = game.forfeiter then 0 else game.bet end
          else game.bet end as amount
      from unnest(game.holders, game.places) as standing (holder, place)
        left join payout_config share on share.version = game.payout_config_version
          and share.players_count = players and share.place = standing.place
    ), paid as (
      select account.owner_id, account.kind, sum(transfer.amount) as amount, count(*) as credits,
        bool_and(transfer.reason = case
          when account.kind = 'house' then 'rake'
          when game.finish_kind = 'normal' then 'payout'
          else 'refund' end) as has_right_reason
      from transfer join account on account.id = transfer.credit_id
      where transfer.debit_id = escrow and transfer.game_id = game.game_id
      group by account.owner_id, account.kind
    )
    select from (
      select * from due
      union all
      select '00000000-0000-0000-0000-000000000000', 'house', game.pool - sum(amount) from due
    ) owed full join paid using (owner_id, kind)
    where owed.amount is distinct from coalesce(paid.amount, 0)
      or paid.credits > 1
      or not paid.has_right_reason
  ) then
    raise exception 'the payouts of game % are not its due', game.game_id
      using errcode = 'integrity_constraint_violation', constraint = 'settlement_due';
  end if;
end $$;

-- Who staked here: each bet is the stake of a hold of the player who paid it, and what went back to a
-- player is the stake of a hold of his that is released. By player and amount: bets that did not go
-- back are his live holds.
create function check_stakes(room uuid, escrow bigint) returns void
language plpgsql security definer set search_path = economy, pg_temp as $$
declare
  wrong uuid;
begin
  select player_id into wrong
  from (
    select account.owner_id as player_id, amount, 1 as bets, 0 as refunds, 0 as live, 0 as released
    from transfer join account on account.id = transfer.debit_id
    where transfer.credit_id = escrow
    union all
    select account.owner_id, amount, 0, 1, 0, 0
    from transfer join account on account.id = transfer.credit_id
    where transfer.debit_id = escrow and transfer.game_id is null
    union all
    -- Apart, for each has an index of its own.
    select player_id, amount, 0, 0, 1, 0 from hold where room_id = room and status <> 'released'
    union all
    select player_id, amount, 0, 0, 0, 1 from hold where room_id = room and status = 'released'
  ) entry
  group by player_id, amount
  -- A tombstone is released and was never paid.
  having sum(bets) - sum(refunds) <> sum(live) or sum(refunds) > sum(released)
  limit 1;
  if found then
    raise exception 'what % staked in room % is not what he holds there', wrong, room
      using errcode = 'integrity_constraint_violation', constraint = 'stake_owner';
  end if;
end $$;

-- Every transfer from or to an escrow, every capture and every settlement changes that escrow's row:
-- so one constraint trigger there sees them all, and only the last change needs the whole check.
create function check_room() returns trigger language plpgsql security definer
set search_path = economy, pg_temp as $$
declare
  room uuid;
  escrow record;
  game settlement;
  stakes record;
begin
  if tg_table_name = 'account' then
    room := new.owner_id;
    if new.version <> (select version from account where id = new.id) then
      return null;
    end if;
  else
    room := new.room_id;
  end if;
  select id, balance into escrow from account where owner_id = room and kind = 'escrow';
  select * into game from settlement where room_id = room;
  select
      coalesce(sum(amount) filter (where status = 'held'), 0) as held,
      coalesce(sum(amount) filter (where status = 'captured'), 0) as captured,
      coalesce(array_agg(player_id) filter (where status = 'captured'), '{}') as players,
      coalesce(bool_and(amount = game.bet) filter (where status = 'captured'), true) as is_even
    into stakes from hold where room_id = room and status <> 'released';

  if coalesce(escrow.balance, 0) <> stakes.held
      + (case when game.finalized_at is null then stakes.captured else 0 end) then
    raise exception 'the escrow of room % does not hold its stakes', room
      using errcode = 'integrity_constraint_violation', constraint = 'escrow_balanced';
  end if;
  perform check_stakes(room, escrow.id);
  if game.game_id is null then
    if stakes.captured > 0 then
      raise exception 'room % has captured stakes without a game', room
        using errcode = 'integrity_constraint_violation', constraint = 'captured_for_game';
    end if;
    return null;
  end if;
  if stakes.held > 0 or not stakes.is_even or stakes.captured <> game.pool
      or not (stakes.players @> game.holders and stakes.players <@ game.holders) then
    raise exception 'the stakes of room % are not what game % captured', room, game.game_id
      using errcode = 'integrity_constraint_violation', constraint = 'captured_for_game';
  end if;
  if game.finalized_at is not null then
    perform check_payout(game, escrow.id);
  end if;
  return null;
end $$;
create constraint trigger hold_balanced after insert or update of status on hold
  deferrable initially deferred for each row execute function check_room();
create constraint trigger escrow_balanced after update of version on account
  deferrable initially deferred for each row when (new.kind = 'escrow')
  execute function check_room();
