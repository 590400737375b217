-- A version is sealed when it is created: at COMMIT it must be complete, and a complete version has
-- no free place; rows never change (guards.sql).

create function check_payout_config() returns trigger language plpgsql security definer
set search_path = economy, pg_temp as $$
declare
  share record;
  numerator numeric := 0;
  denominator numeric := 1;
begin
  -- 2 + 3 + 4 places.
  if (select count(*) from payout_config where version = new.version) <> 9 then
    raise exception 'payout version % must name every place of 2, 3 and 4 players', new.version
      using errcode = 'integrity_constraint_violation', constraint = 'payout_config_complete';
  end if;
  -- The sum as one exact fraction.
  for share in select c.numerator as n, c.denominator as d from payout_config c
      where c.version = new.version and c.players_count = new.players_count loop
    numerator := numerator * share.d + share.n * denominator;
    denominator := denominator * share.d;
  end loop;
  if numerator > denominator then
    raise exception 'payout version % pays more than the pool to % players', new.version,
      new.players_count
      using errcode = 'integrity_constraint_violation', constraint = 'payout_config_sum';
  end if;
  return null;
end $$;
create constraint trigger payout_config_sealed after insert on payout_config
  deferrable initially deferred for each row execute function check_payout_config();

insert into payout_config (version, players_count, place, numerator, denominator) values
  (1, 2, 1, 7, 8), (1, 2, 2, 0, 1),
  (1, 3, 1, 1, 2), (1, 3, 2, 3, 8), (1, 3, 3, 0, 1),
  (1, 4, 1, 1, 2), (1, 4, 2, 1, 4), (1, 4, 3, 1, 8), (1, 4, 4, 0, 1);
