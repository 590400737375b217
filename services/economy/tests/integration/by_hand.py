"""What the attacks on the database share: rows inserted past the service."""

from collections.abc import Awaitable
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from economy.domain.ledger import NIL
from shared.ids import new_id
from tests.integration.bank import Room

Connection = asyncpg.Connection
RULES = asyncpg.IntegrityConstraintViolationError


async def refused(work: Awaitable[Any]) -> str:
    """Await what the database must refuse; return the name of the rule."""
    with pytest.raises(RULES) as refusal:
        await work
    return str(refusal.value.constraint_name)


async def account_id(connection: Connection, kind: str, owner_id: UUID) -> int:
    found = await connection.fetchval(
        "select id from account where kind = $1 and owner_id = $2", kind, owner_id
    )
    return int(found)


async def insert_transfer(
    connection: Connection,
    reason: str,
    debit: tuple[str, UUID],
    credit: tuple[str, UUID],
    amount: int = 1,
    **columns: Any,
) -> None:
    await connection.execute(
        """
        insert into transfer
          (id, idempotency_key, debit_id, credit_id, amount, reason, room_id, game_id)
        values ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        new_id(),
        columns.get("key", f"test:{new_id()}"),
        await account_id(connection, *debit),
        await account_id(connection, *credit),
        amount,
        reason,
        columns.get("room_id"),
        columns.get("game_id"),
    )


async def balance_of(connection: Connection, kind: str, owner_id: UUID) -> int:
    found = await connection.fetchval(
        "select balance from account where kind = $1 and owner_id = $2", kind, owner_id
    )
    return int(found)


def player(room: Room, seat: int = 0) -> tuple[str, UUID]:
    return ("player", room.players[seat])


def escrow(room: Room) -> tuple[str, UUID]:
    return ("escrow", room.room_id)


HOUSE, MINT = ("house", NIL), ("mint", NIL)
