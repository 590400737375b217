"""The audit finds what no trigger could have let through, and nothing in a sound ledger."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from sqlalchemy import text

from economy.audit import Violation, find_violations
from samovar.addresses import Addresses
from shared.contracts.economy import FinishKind
from shared.db import Database
from shared.ids import new_id
from tests.integration.bank import Client, Room, a_result


@pytest.fixture(scope="module")
async def superuser(infra: Addresses) -> AsyncIterator[Database]:
    database = Database.connect(infra.admin_url, name="economy-test", pool_size=1)
    yield database
    await database.close()


class Undo(Exception):  # no error: it rolls a test's damage back
    """Raised at the end of a transaction that must not last."""


async def damaged(
    superuser: Database, room: Room, *statements: str, other: UUID | None = None
) -> list[Violation]:
    """Change rows behind the triggers' back, audit, and undo."""
    found: list[Violation] = []
    values = {"game": room.game_id, "room": room.room_id, "player": room.players[0],
              "hold": room.holds[0], "other": other}  # fmt: skip
    try:
        async with superuser.transaction() as tx:
            await tx.execute(text("set local search_path = economy"))
            await tx.execute(text("set local session_replication_role = replica"))
            for statement in statements:
                used = {name: value for name, value in values.items() if f":{name}" in statement}
                await tx.execute(text(statement), used)
            found = await find_violations(tx)
            raise Undo
    except Undo:
        return found


SETTLED = {
    "I1": "update hold set amount = amount + 1 where hold_id = :hold",
    "I2": "update transfer set amount = amount - 1 where game_id = :game and reason = 'rake'",
    "I4": "update account set balance = balance + 1 where owner_id = :player",
    "I5": "update account set balance = balance + 1 where owner_id = :player",
    "I6": """
        insert into transfer (id, idempotency_key, debit_id, credit_id, amount, reason, room_id,
          game_id)
        select gen_random_uuid(), gen_random_uuid()::text, debit_id, credit_id, amount, reason,
          room_id, game_id
        from transfer where game_id = :game
    """,
    "I7": "update account set balance = 1 where owner_id = :room",
    "I8": "update hold set status = 'released' where hold_id = :hold",
    "I9": "update settlement set places = array[2, 1] where game_id = :game",
}


@pytest.mark.parametrize("invariant", sorted(SETTLED))
async def test_damage_to_a_settled_game_is_found(
    invariant: str, client: Client, superuser: Database
) -> None:
    room = await client.captured_room()
    await client.settle(a_result(room))

    found = await damaged(superuser, room, SETTLED[invariant])

    assert invariant in {violation.invariant for violation in found}


# What went to whom, behind the triggers' back; the sums stay right in each.
ASTRAY = {
    "I8": [
        (
            "update transfer set credit_id = (select id from account where owner_id = :other)"
            " where room_id = :room and reason = 'refund'",
            "of the wrong account",
        ),
        (
            "update transfer set debit_id = (select id from account where owner_id = :other)"
            " where room_id = :room and reason = 'bet'",
            "of the wrong account",
        ),
        (
            "update transfer set idempotency_key = 'mine'"
            " where room_id = :room and reason = 'refund'",
            "refund of no hold",
        ),
    ],
    "I9": [
        (
            "update transfer set credit_id = (select id from account where owner_id = :other)"
            " where game_id = :game and reason = 'rake'",
            "neither a holder nor the house",
        ),
        (
            "update transfer set game_id = :other where game_id = :game and reason = 'rake'",
            "neither a holder nor the house",
        ),
    ],
}


@pytest.mark.parametrize(
    ("invariant", "statement", "detail"),
    [(name, *case) for name, cases in ASTRAY.items() for case in cases],
)
async def test_money_that_went_to_somebody_else_is_found(
    invariant: str, statement: str, detail: str, client: Client, superuser: Database
) -> None:
    if invariant == "I8":
        room = await client.staked_room()
        await client.release(room.release(0))
    else:
        room = await client.captured_room()
        await client.settle(a_result(room))
    bystander = await client.balance(new_id())

    found = await damaged(superuser, room, statement, other=bystander.player_id)

    assert [v.detail for v in found if v.invariant == invariant and detail in v.detail]


async def test_negative_balances_are_found(client: Client, superuser: Database) -> None:
    room = await client.staked_room()
    # A CHECK holds for superusers too; it goes with the transaction that undoes it.
    statement = "alter table account drop constraint account_balance_floor"

    found = await damaged(
        superuser, room, statement, "update account set balance = -1 where owner_id = :player"
    )

    assert "I3" in {violation.invariant for violation in found}


@pytest.mark.parametrize(
    ("statement", "invariants"),
    [
        ("update account set held = held + 1 where owner_id = :player", {"I4"}),
        (
            "update settlement set holders[1] = :room where game_id = :game",
            {"I1"},
        ),
        ("update hold set status = 'held' where hold_id = :hold", {"I1"}),
        ("delete from settlement where game_id = :game", {"I1"}),
    ],
)
async def test_damage_to_a_captured_game_is_found(
    statement: str, invariants: set[str], client: Client, superuser: Database
) -> None:
    room = await client.captured_room()

    found = await damaged(superuser, room, statement)

    assert invariants <= {violation.invariant for violation in found}


async def test_violation_names_what_is_wrong(client: Client, superuser: Database) -> None:
    room = await client.captured_room()
    statement = "update account set balance = balance + 7 where owner_id = :player"

    found = await damaged(superuser, room, statement)

    detail = f"player {room.players[0]}: balance 907, transfers 900"
    assert detail in {violation.detail for violation in found}
    assert ("all accounts", "sum 7") in {(v.subject, v.detail) for v in found}


async def test_sound_ledger_has_no_violation(client: Client, db: Database) -> None:
    settled, released, captured = [await client.staked_room(players=n) for n in (4, 2, 3)]
    await client.capture(settled)
    await client.settle(a_result(settled, FinishKind.NORMAL))
    await client.release(released.release(1))
    await client.capture(captured)

    assert await db.run(find_violations) == []
