-- The service may insert transfers; it may not touch a balance, a trigger or a past row.

grant select on account, transfer, hold, payout_config, settlement, adjustment, recovery_event
  to economy_runtime;
grant select on players, balance_holds, transactions, games to economy_runtime;
grant insert (kind, owner_id) on account to economy_runtime;
-- Locking a row takes the right to update some column; guard_account() refuses every such update.
grant update (id) on account to economy_runtime;
grant insert (id, idempotency_key, debit_id, credit_id, amount, reason, room_id, game_id)
  on transfer to economy_runtime;
grant insert (hold_id, player_id, room_id, amount, status, expires_at) on hold to economy_runtime;
grant update (status, expires_at) on hold to economy_runtime;
grant insert (game_id, room_id, holders, bet, pool, payout_config_version, next_check_at)
  on settlement to economy_runtime;
grant update (finish_kind, places, forfeiter, request_hash, finalized_at, next_check_at)
  on settlement to economy_runtime;
grant insert (ticket, player_id, amount, note, actor) on adjustment to economy_runtime;
grant insert (id, crash_row, action, room_id, subject_id) on recovery_event to economy_runtime;
revoke execute on all functions in schema economy from public;
