"""SQL of accounts and transfers; ``room_store`` has holds and settlements.

Locks are taken in this order: hold, settlement, account (ascending by id). Accounts are locked with
``for no key update``: foreign keys take ``for key share``, which does not conflict. Inserting
transfers locks their accounts in the right order by itself (``apply_transfers`` in the migration).
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping, text
from sqlalchemy.exc import IntegrityError

from economy.domain.ledger import AccountKind, Reason, Transfer
from shared.contracts import economy as contract
from shared.contracts.economy import Adjust, Balance, TransferView
from shared.db import Tx
from shared.errors import assert_invariant
from shared.ids import new_id


def violated(error: IntegrityError) -> str | None:
    """Name the constraint, or the rule of a trigger, that a statement broke."""
    origin: Any = error.orig
    name: str | None = getattr(origin.__cause__, "constraint_name", None)
    return name


# --- accounts -------------------------------------------------------------------------------------


async def open_account(tx: Tx, kind: AccountKind, owner_id: UUID) -> bool:
    """Insert an empty account; False if there is one.

    Waits for a parallel insert of the same account to commit or roll back.
    """
    result = await tx.execute(
        text("""
            insert into account (kind, owner_id)
            select cast(:kind as text), cast(:owner_id as uuid)
            where not exists (select from account where owner_id = :owner_id and kind = :kind)
            on conflict do nothing
        """),
        {"kind": kind.value, "owner_id": owner_id},
    )
    return result.rowcount == 1


async def load_balance(tx: Tx, player_id: UUID) -> Balance | None:
    """Return a player's money; None if there is no account."""
    return next(iter(await load_balances(tx, [player_id])), None)


async def load_balances(tx: Tx, player_ids: Sequence[UUID]) -> list[Balance]:
    result = await tx.execute(
        text("""
            select owner_id as player_id, balance as available, held, version from account
            where owner_id = any (:player_ids) and kind = 'player'
        """),
        {"player_ids": list(player_ids)},
    )
    return [to_balance(row) for row in result.mappings()]


def to_balance(row: RowMapping) -> Balance:
    return Balance(
        player_id=row["player_id"],
        available=row["available"],
        held=row["held"],
        version=row["version"],
    )


# --- transfers ------------------------------------------------------------------------------------

_INSERT_TRANSFERS = text("""
    insert into transfer
      (id, idempotency_key, debit_id, credit_id, amount, reason, room_id, game_id)
    select leg.id, leg.key, debit.id, credit.id, leg.amount, leg.reason, leg.room_id, leg.game_id
    from unnest(
        cast(:ids as uuid[]), cast(:keys as text[]),
        cast(:debit_kinds as text[]), cast(:debit_owners as uuid[]),
        cast(:credit_kinds as text[]), cast(:credit_owners as uuid[]),
        cast(:amounts as bigint[]), cast(:reasons as text[]),
        cast(:room_ids as uuid[]), cast(:game_ids as uuid[])
      ) as leg (id, key, debit_kind, debit_owner, credit_kind, credit_owner, amount, reason,
        room_id, game_id)
      join account debit on debit.owner_id = leg.debit_owner and debit.kind = leg.debit_kind
      join account credit on credit.owner_id = leg.credit_owner and credit.kind = leg.credit_kind
""")


async def insert_transfers(tx: Tx, transfers: Sequence[Transfer]) -> None:
    """Move money, all in one statement. Locks the accounts; each must exist.

    Raises:
        IntegrityError: naming by ``violated`` the rule that a transfer breaks
            (``account_balance_floor``, ``room_captured``, ``escrow_finalized``, …).
    """
    result = await tx.execute(
        _INSERT_TRANSFERS,
        {
            "ids": [new_id() for _ in transfers],
            "keys": [transfer.key for transfer in transfers],
            "debit_kinds": [transfer.debit.kind.value for transfer in transfers],
            "debit_owners": [transfer.debit.owner_id for transfer in transfers],
            "credit_kinds": [transfer.credit.kind.value for transfer in transfers],
            "credit_owners": [transfer.credit.owner_id for transfer in transfers],
            "amounts": [transfer.amount for transfer in transfers],
            "reasons": [transfer.reason.value for transfer in transfers],
            "room_ids": [transfer.room_id for transfer in transfers],
            "game_ids": [transfer.game_id for transfer in transfers],
        },
    )
    assert_invariant(result.rowcount == len(transfers), "every transfer found its accounts")


async def list_transfers(
    tx: Tx, player_id: UUID, before: UUID | None, limit: int
) -> list[TransferView]:
    """Return a player's transfers, newest first, before a transfer (by id, a uuid7)."""
    result = await tx.execute(
        text("""
            with mine as (
              select id from account where owner_id = :player_id and kind = 'player')
            (select id, -amount as amount, reason, room_id, game_id, created_at from transfer
             where debit_id = (select id from mine) and id < :before order by id desc limit :limit)
            union all
            (select id, amount, reason, room_id, game_id, created_at from transfer
             where credit_id = (select id from mine) and id < :before order by id desc limit :limit)
            order by id desc limit :limit
        """),
        {"player_id": player_id, "before": before or UUID(int=2**128 - 1), "limit": limit},
    )
    return [
        TransferView(
            transfer_id=row["id"],
            amount=row["amount"],
            reason=contract.Reason(row["reason"]),
            room_id=row["room_id"],
            game_id=row["game_id"],
            created_at=row["created_at"],
        )
        for row in result.mappings()
    ]


async def list_credits(tx: Tx, game_id: UUID, room_id: UUID) -> list[tuple[UUID, int, Reason]]:
    """Return what a settlement paid: owner (nil for the house), amount, reason."""
    result = await tx.execute(
        text("""
            select credit.owner_id, transfer.amount, transfer.reason
            from account escrow
              join transfer on transfer.debit_id = escrow.id
              join account credit on credit.id = transfer.credit_id
            where escrow.owner_id = :room_id and escrow.kind = 'escrow'
              and transfer.game_id = :game_id
        """),
        {"room_id": room_id, "game_id": game_id},
    )
    return [(row[0], row[1], Reason(row[2])) for row in result]


# --- adjustments ----------------------------------------------------------------------------------


async def insert_adjustment(tx: Tx, adjust: Adjust) -> bool:
    """Record who corrects a balance and why; False if this ticket has this player already."""
    result = await tx.execute(
        text("""
            insert into adjustment (ticket, player_id, amount, note, actor)
            values (:ticket, :player_id, :amount, :note, :actor)
            on conflict (ticket, player_id) do nothing
        """),
        adjust.model_dump(),
    )
    return result.rowcount == 1


async def load_adjustment(tx: Tx, ticket: str, player_id: UUID) -> Adjust:
    result = await tx.execute(
        text("""
            select ticket, player_id, amount, note, actor from adjustment
            where ticket = :ticket and player_id = :player_id
        """),
        {"ticket": ticket, "player_id": player_id},
    )
    return Adjust.model_validate(dict(result.mappings().one()))
