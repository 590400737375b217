"""The ledger recomputed from its rows: invariants I1-I9 (design: economy, section 5).

Each statement lists violations as (subject, detail) over the whole database, trusting no balance,
trigger or constraint. ``samovar ledger verify`` prints them, the service exports their number.
"""

from dataclasses import dataclass

from sqlalchemy import text

from shared.db import Tx


@dataclass(frozen=True, slots=True)
class Invariant:
    name: str
    title: str
    sql: str


@dataclass(frozen=True, slots=True)
class Violation:
    """A row, or a sum, for which an invariant does not hold."""

    invariant: str
    subject: str
    detail: str


INVARIANTS = (
    Invariant(
        "I1",
        "captured stakes are the pool",
        """
        select coalesce('game ' || game.game_id, 'room ' || stake.room_id),
          format('pool %s, captured %s by %s holders', game.pool, stake.amount, stake.players)
        from settlement game
          full join (
            select room_id, sum(amount) as amount, count(*) as players,
              array_agg(player_id) as player_ids
            from hold where status = 'captured' group by room_id
          ) stake on stake.room_id = game.room_id
        where game.pool is distinct from stake.amount
          or cardinality(game.holders) is distinct from stake.players
          or not (game.holders @> stake.player_ids)
        """,
    ),
    Invariant(
        "I2",
        "payouts, refunds and rake are the pool",
        """
        select 'game ' || game.game_id, format('pool %s, paid %s', game.pool, paid.amount)
        from settlement game
          left join (
            select game_id, sum(amount) as amount from transfer
            where game_id is not null group by game_id
          ) paid on paid.game_id = game.game_id
        where coalesce(paid.amount, 0) <> case when game.finalized_at is null then 0
          else game.pool end
        """,
    ),
    Invariant(
        "I3",
        "nothing is negative",
        """
        select 'account ' || id, format('balance %s, held %s', balance, held) from account
          where balance < 0 or held < 0
        union all
        select 'transfer ' || id, format('amount %s', amount) from transfer where amount <= 0
        """,
    ),
    Invariant(
        "I4",
        "each balance is the sum of its transfers, each held amount of its stakes",
        """
        select 'account ' || account.id, format('%s %s: balance %s, transfers %s', account.kind,
          account.owner_id, account.balance, coalesce(moved.amount, 0))
        from account
          left join (
            select account_id, sum(amount) as amount from (
              select debit_id as account_id, -amount as amount from transfer
              union all select credit_id, amount from transfer) leg
            group by account_id
          ) moved on moved.account_id = account.id
        where account.kind in ('player', 'escrow')
          and account.balance <> coalesce(moved.amount, 0)
        union all
        select 'account ' || account.id, format('player %s: held %s, stakes %s', account.owner_id,
          account.held, coalesce(stake.amount, 0))
        from account
          left join (
            select hold.player_id, sum(hold.amount) as amount
            from hold left join settlement game on game.room_id = hold.room_id
            where hold.status = 'held'
              or (hold.status = 'captured' and game.finalized_at is null)
            group by hold.player_id
          ) stake on stake.player_id = account.owner_id
        where account.kind = 'player' and account.held <> coalesce(stake.amount, 0)
        """,
    ),
    Invariant(
        "I5",
        "all accounts together are zero",
        """
        select 'all accounts', format('sum %s', total)
        from (
          select
            (select coalesce(sum(balance), 0) from account where kind in ('player', 'escrow'))
            + (select coalesce(sum(transfer.amount), 0)
               from transfer join account on account.id = transfer.credit_id
               where account.kind in ('house', 'mint'))
            - (select coalesce(sum(transfer.amount), 0)
               from transfer join account on account.id = transfer.debit_id
               where account.kind in ('house', 'mint')) as total
        ) books
        where total <> 0
        """,
    ),
    Invariant(
        "I6",
        "one transfer for each key",
        """
        select 'key ' || idempotency_key, format('%s transfers', count(*))
        from transfer group by idempotency_key having count(*) > 1
        union all
        select 'game ' || game_id, format('%s credits of account %s', count(*), credit_id)
        from transfer where game_id is not null group by game_id, credit_id having count(*) > 1
        """,
    ),
    Invariant(
        "I7",
        "an escrow holds what is held or captured, and nothing once its game is finalized",
        """
        select 'room ' || escrow.owner_id, format('escrow %s, stakes %s', escrow.balance,
          coalesce(stake.amount, 0))
        from account escrow
          left join (
            select hold.room_id, sum(hold.amount) as amount
            from hold left join settlement game on game.room_id = hold.room_id
            where hold.status = 'held'
              or (hold.status = 'captured' and game.finalized_at is null)
            group by hold.room_id
          ) stake on stake.room_id = escrow.owner_id
        where escrow.kind = 'escrow' and escrow.balance <> coalesce(stake.amount, 0)
        """,
    ),
    Invariant(
        "I8",
        "each hold has the transfers of its status, from and to its own player",
        """
        with stake as (
          select transfer.idempotency_key as key, transfer.amount,
            transfer.reason = 'refund' as is_back,
            (player.kind, escrow.kind) = ('player', 'escrow') as has_kinds,
            player.owner_id as player_id, escrow.owner_id as room_id
          from transfer
            join account player on player.id =
              case reason when 'bet' then debit_id else credit_id end
            join account escrow on escrow.id =
              case reason when 'bet' then credit_id else debit_id end
          where reason = 'bet' or (reason = 'refund' and game_id is null)
        )
        select 'hold ' || hold.hold_id, format('%s: taken %s, given back %s of %s', hold.status,
          coalesce(bet.amount, 0), coalesce(refund.amount, 0), hold.amount)
        from hold
          left join stake bet
            on bet.key = 'hold:' || hold.hold_id || ':bet' and not bet.is_back
          left join stake refund
            on refund.key = 'hold:' || hold.hold_id || ':refund' and refund.is_back
        where case hold.status
          when 'released' then bet.amount is distinct from refund.amount
            or coalesce(bet.amount, hold.amount) <> hold.amount
          else bet.amount is distinct from hold.amount or refund.amount is not null end
        union all
        select 'transfer ' || stake.key,
          case when hold.hold_id is null
            then format('%s of no hold', case when stake.is_back then 'refund' else 'bet' end)
            else format('%s of the wrong account: player %s, room %s; the hold: %s, %s',
              case when stake.is_back then 'refund' else 'bet' end,
              stake.player_id, stake.room_id, hold.player_id, hold.room_id) end
        from stake
          left join hold on stake.key = 'hold:' || hold.hold_id
            || case when stake.is_back then ':refund' else ':bet' end
        where hold.hold_id is null or not stake.has_kinds
          or (stake.player_id, stake.room_id) is distinct from (hold.player_id, hold.room_id)
        """,
    ),
    Invariant(
        "I9",
        "places of a normal game are a permutation; each holder got his due, and nobody else",
        """
        select 'game ' || game.game_id, format('places %s', game.places)
        from settlement game
        where game.finish_kind = 'normal'
          and (select array_agg(place order by place) from unnest(game.places) place)
            is distinct from
              (select array_agg(n) from generate_series(1, cardinality(game.holders)) n)
        union all
        select 'game ' || game.game_id, format('%s by %s: due %s, paid %s', game.finish_kind,
          standing.holder, due.amount, coalesce(paid.amount, 0))
        from settlement game
          cross join unnest(game.holders, game.places) as standing (holder, place)
          left join payout_config share on share.version = game.payout_config_version
            and share.players_count = cardinality(game.holders) and share.place = standing.place
          cross join lateral (
            select case game.finish_kind
              when 'normal' then
                div(game.pool::numeric * share.numerator, share.denominator::numeric)
              when 'forfeit' then
                case when standing.holder = game.forfeiter then 0 else game.bet end
              else game.bet end as amount
          ) due
          left join (
            select transfer.game_id, account.owner_id, sum(transfer.amount) as amount
            from transfer join account on account.id = transfer.credit_id
            where transfer.game_id is not null group by transfer.game_id, account.owner_id
          ) paid on paid.game_id = game.game_id and paid.owner_id = standing.holder
        where game.finalized_at is not null and due.amount is distinct from coalesce(paid.amount, 0)
        union all
        select 'game ' || transfer.game_id,
          format('%s paid to %s %s, neither a holder nor the house', transfer.amount, credit.kind,
            credit.owner_id)
        from transfer
          join account credit on credit.id = transfer.credit_id
          left join settlement game on game.game_id = transfer.game_id
        where transfer.game_id is not null
          and (game.game_id is null or not (credit.kind = 'house'
            or (credit.kind = 'player' and credit.owner_id = any (game.holders))))
        """,
    ),
)


async def find_violations(tx: Tx) -> list[Violation]:
    """Recompute every invariant; the transaction should see one snapshot (repeatable read)."""
    found: list[Violation] = []
    for invariant in INVARIANTS:
        # Not text(): the statements contain colons.
        rows = await tx.exec_driver_sql(
            f"select subject, detail from ({invariant.sql}) found (subject, detail)"  # noqa: S608
        )
        found += [Violation(invariant.name, **row) for row in rows.mappings()]
    return found


async def count_rows(tx: Tx) -> dict[str, int]:
    """Count what an audit has looked at."""
    result = await tx.execute(
        text("""
            select (select count(*) from account) as accounts,
              (select count(*) from transfer) as transfers,
              (select count(*) from hold) as holds,
              (select count(*) from settlement) as settlements
        """)
    )
    return dict(result.mappings().one())
