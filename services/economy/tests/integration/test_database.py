"""What PostgreSQL itself refuses, to the service's role and to the owner of the tables."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from economy.domain.ledger import NIL
from shared.contracts.economy import FinishKind
from shared.ids import new_id
from tests.integration.bank import Client, Room, a_result

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


# --- rights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "update account set balance = balance + 1",
        "update account set held = 0",
        "update account set version = 0",
        "update account set owner_id = owner_id",
        "delete from account",
        "truncate account cascade",
        "insert into account (kind, owner_id, balance) values ('player', gen_random_uuid(), 5)",
        "update transfer set amount = 1",
        "delete from transfer",
        "truncate transfer",
        "update hold set amount = 1",
        "delete from hold",
        "update settlement set pool = 0",
        "update settlement set holders = '{}'",
        "delete from settlement",
        "insert into payout_config values (9, 2, 1, 1, 1)",
        "update payout_config set numerator = 1",
        "delete from payout_config",
        "update adjustment set note = ''",
        "update recovery_event set action = ''",
        "alter table transfer disable trigger all",
        "drop trigger apply_transfers on transfer",
        "alter table account drop constraint account_balance_floor",
        "create table economy.mine (id int)",
        "create temporary table mine (id int)",
        "set session_replication_role = replica",
        "select check_payout(settlement, 1) from settlement",
        "set role economy_owner",
    ],
)
async def test_service_role_has_no_right_to(statement: str, runtime: Connection) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await runtime.execute(statement)


async def test_service_role_has_no_right_on_balances(runtime: Connection) -> None:
    rights = await runtime.fetchrow(
        """
        select has_column_privilege('account', 'balance', 'update') as balance,
          has_column_privilege('account', 'held', 'update') as held,
          has_table_privilege('transfer', 'update, delete, truncate') as past,
          has_table_privilege('account', 'delete, truncate, trigger') as account
        """
    )

    assert rights is not None
    assert not any(rights.values())


@pytest.mark.parametrize(
    "statement",
    [
        "update transfer set amount = amount + 1",
        "update transfer set created_at = now() where false",
        "delete from transfer where false",
        "truncate transfer",
        "delete from account where false",
        "truncate account cascade",
        "delete from hold",
        "truncate hold",
        "delete from settlement",
        "truncate settlement",
        "update payout_config set numerator = 0",
        "delete from payout_config",
        "truncate payout_config",
        "update adjustment set amount = 1",
        "delete from adjustment",
        "delete from recovery_event",
    ],
)
async def test_nobody_changes_the_past(
    statement: str, runtime: Connection, owner: Connection
) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await runtime.execute(statement)
    assert await refused(owner.execute(statement)) == "append_only"


# --- accounts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["balance", "held", "version"])
async def test_balance_changes_by_no_update_not_even_the_owners(
    column: str, client: Client, owner: Connection
) -> None:
    room = await client.staked_room()

    rule = await refused(
        owner.execute(
            f"update account set {column} = {column} + 1 where owner_id = $1", room.players[0]
        )
    )

    assert rule == "account_by_transfer"


async def test_lock_right_of_the_service_changes_nothing(runtime: Connection) -> None:
    assert await refused(runtime.execute("update account set id = default")) == "account_immutable"


@pytest.mark.parametrize("change", ["kind = 'escrow'", "owner_id = gen_random_uuid()"])
async def test_account_keeps_its_kind_and_owner(
    change: str, client: Client, owner: Connection
) -> None:
    room = await client.staked_room()

    rule = await refused(
        owner.execute(f"update account set {change} where owner_id = $1", room.players[0])
    )

    assert rule == "account_immutable"


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ("('player', gen_random_uuid(), 5, 0)", "account_begins_empty"),
        ("('player', gen_random_uuid(), 0, 5)", "account_begins_empty"),
        ("('house', gen_random_uuid(), 0, 0)", "account_single"),
        ("('mint', '00000000-0000-0000-0000-000000000000', 0, 0)", "account_owner"),
        ("('player', '00000000-0000-0000-0000-000000000000', 0, 0)", "account_single"),
        ("('bank', gen_random_uuid(), 0, 0)", "account_kind"),
    ],
)
async def test_account_that_cannot_be_is_refused(values: str, rule: str, owner: Connection) -> None:
    statement = f"insert into account (kind, owner_id, balance, held) values {values}"

    broken = await refused(owner.execute(statement))

    assert broken in (rule, "account_running_balance")


async def test_second_account_of_a_player_is_refused(client: Client, runtime: Connection) -> None:
    room = await client.staked_room()

    rule = await refused(
        runtime.execute("insert into account (kind, owner_id) values ($1, $2)", *player(room))
    )

    assert rule == "account_owner"


# --- transfers ------------------------------------------------------------------------------------


async def test_transfer_moves_both_balances_and_cannot_overdraw(
    client: Client, runtime: Connection
) -> None:
    room = await client.staked_room(bet=100)
    anna = player(room)

    await insert_transfer(runtime, "admin_adjustment", anna, MINT, 900)
    assert await balance_of(runtime, *anna) == 0
    rule = await refused(insert_transfer(runtime, "admin_adjustment", anna, MINT, 1))

    assert rule == "account_balance_floor"


async def test_escrow_cannot_be_overdrawn(client: Client, runtime: Connection) -> None:
    room = await client.staked_room(bet=100)

    rule = await refused(
        insert_transfer(runtime, "refund", escrow(room), player(room), 201, room_id=room.room_id)
    )

    assert rule in ("account_balance_floor", "account_held_floor")


async def test_house_and_mint_keep_no_running_balance(client: Client, runtime: Connection) -> None:
    room = await client.captured_room()
    await client.settle(a_result(room))

    assert await balance_of(runtime, *HOUSE) == 0
    assert await balance_of(runtime, *MINT) == 0


async def test_key_is_taken_once(client: Client, runtime: Connection) -> None:
    room = await client.staked_room()
    await insert_transfer(runtime, "admin_adjustment", MINT, player(room), key=f"k:{room.room_id}")

    rule = await refused(
        insert_transfer(runtime, "admin_adjustment", MINT, player(room, 1), key=f"k:{room.room_id}")
    )

    assert rule == "transfer_once"


@pytest.mark.parametrize("amount", [0, -1])
async def test_amount_is_positive(amount: int, client: Client, runtime: Connection) -> None:
    room = await client.staked_room()

    rule = await refused(insert_transfer(runtime, "admin_adjustment", MINT, player(room), amount))

    assert rule == "transfer_amount"


async def test_transfers_that_make_no_sense_are_refused(
    client: Client, runtime: Connection
) -> None:
    room = await client.staked_room()
    other = await client.staked_room()
    room_id, game_id = room.room_id, room.game_id
    anna, boris = player(room), player(room, 1)
    captured = await client.captured_room()
    in_room = {"room_id": room_id}
    in_game = {"room_id": captured.room_id, "game_id": captured.game_id}

    cases: list[tuple[str, tuple[str, UUID], tuple[str, UUID], dict[str, UUID], str]] = [
        ("admin_adjustment", anna, anna, {}, "transfer_two_accounts"),
        ("admin_adjustment", anna, boris, {}, "transfer_accounts"),
        ("admin_adjustment", HOUSE, anna, {}, "transfer_accounts"),
        ("gift", MINT, anna, {}, "transfer_reason"),
        ("grant", anna, MINT, {}, "transfer_accounts"),
        ("bet", anna, HOUSE, in_room, "transfer_accounts"),
        ("bet", anna, escrow(room), {}, "transfer_names_room"),
        ("bet", anna, escrow(room), {"room_id": other.room_id}, "transfer_accounts"),
        ("bet", anna, escrow(room), {"room_id": room_id, "game_id": game_id},
         "transfer_names_game"),
        ("refund", escrow(other), anna, in_room, "transfer_accounts"),
        ("refund", escrow(room), HOUSE, in_room, "transfer_accounts"),
        ("payout", escrow(room), anna, in_room, "transfer_names_game"),
        ("payout", escrow(room), anna, {"room_id": room_id, "game_id": game_id},
         "transfer_accounts"),
        ("payout", escrow(captured), player(captured), in_game | {"game_id": new_id()},
         "transfer_accounts"),
        ("rake", escrow(captured), player(captured), in_game, "transfer_accounts"),
        ("grant", MINT, anna, in_room, "transfer_names_room"),
    ]  # fmt: skip
    for reason, debit, credit, columns, rule in cases:
        broken = await refused(insert_transfer(runtime, reason, debit, credit, 1, **columns))
        assert broken == rule, (reason, debit, credit)


async def test_transfer_without_an_account_is_refused(runtime: Connection) -> None:
    rule = await refused(
        runtime.execute(
            """
            insert into transfer (id, idempotency_key, debit_id, credit_id, amount, reason)
            values (gen_random_uuid(), gen_random_uuid()::text, -1, -2, 1, 'admin_adjustment')
            """
        )
    )

    assert rule in ("transfer_debit_account", "transfer_credit_account")


async def test_transfers_of_one_statement_are_applied_together(
    client: Client, runtime: Connection
) -> None:
    room = await client.staked_room()
    mint = await account_id(runtime, *MINT)
    accounts = [await account_id(runtime, *player(room, seat)) for seat in (0, 1)]

    await runtime.execute(
        """
        insert into transfer (id, idempotency_key, debit_id, credit_id, amount, reason)
        select gen_random_uuid(), gen_random_uuid()::text, $1, credit, 5, 'admin_adjustment'
        from unnest($2::bigint[]) credit, generate_series(1, 3)
        """,
        mint,
        accounts,
    )

    assert [await balance_of(runtime, *player(room, seat)) for seat in (0, 1)] == [915, 915]


# --- holds ----------------------------------------------------------------------------------------

INSERT_HOLD = """
    insert into hold (hold_id, player_id, room_id, amount, status, expires_at)
    values ($1, $2, $3, $4, $5, now())
"""


async def test_hold_status_goes_one_way_and_not_without_its_money(
    client: Client, runtime: Connection, owner: Connection
) -> None:
    held, released = await client.staked_room(), await client.staked_room()
    captured = await client.captured_room()
    await client.release(released.release(0))

    for room, status, rule in (
        (held, "captured", "captured_for_game"),
        (held, "released", "escrow_balanced"),
        (released, "held", "hold_transition"),
        (released, "captured", "hold_transition"),
        (captured, "held", "hold_transition"),
        (captured, "released", "hold_transition"),
    ):
        for connection in (runtime, owner):
            statement = "update hold set status = $1 where hold_id = $2"
            assert await refused(connection.execute(statement, status, room.holds[0])) == rule


@pytest.mark.parametrize(
    "change",
    ["amount = 1", "player_id = gen_random_uuid()", "room_id = gen_random_uuid()",
     "hold_id = gen_random_uuid()"],
)  # fmt: skip
async def test_terms_of_a_hold_never_change(change: str, client: Client, owner: Connection) -> None:
    room = await client.staked_room()

    rule = await refused(
        owner.execute(f"update hold set {change} where hold_id = $1", room.holds[0])
    )

    assert rule == "hold_immutable"


async def test_hold_without_its_transfer_does_not_commit(
    client: Client, runtime: Connection
) -> None:
    room = await client.staked_room()

    rule = await refused(
        runtime.execute(INSERT_HOLD, new_id(), new_id(), room.room_id, 100, "held")
    )

    assert rule == "escrow_balanced"


async def test_transfer_without_its_hold_does_not_commit(
    client: Client, runtime: Connection
) -> None:
    room = await client.staked_room()

    rule = await refused(
        insert_transfer(runtime, "bet", player(room), escrow(room), 5, room_id=room.room_id)
    )

    assert rule == "escrow_balanced"


async def test_hold_cannot_begin_captured(runtime: Connection) -> None:
    rule = await refused(runtime.execute(INSERT_HOLD, new_id(), new_id(), new_id(), 1, "captured"))

    assert rule == "hold_transition"


async def test_second_live_hold_of_a_player_in_a_room_is_refused(
    client: Client, runtime: Connection
) -> None:
    room = await client.staked_room()

    rule = await refused(
        runtime.execute(INSERT_HOLD, new_id(), room.players[0], room.room_id, 1, "held")
    )

    assert rule == "hold_live"


# --- captured games -------------------------------------------------------------------------------

INSERT_SETTLEMENT = """
    insert into settlement
      (game_id, room_id, holders, bet, pool, payout_config_version, next_check_at)
    values ($1, $2, $3, $4, $5, $6, now())
"""


async def test_capture_must_match_the_stakes(client: Client, runtime: Connection) -> None:
    room = await client.staked_room(bet=100)
    two = room.players

    async def attempt(holders: list[UUID], bet: int, pool: int, version: int, holds: list[UUID]):  # type: ignore[no-untyped-def]  # returns what refused() takes
        async with runtime.transaction():
            await runtime.execute(
                "update hold set status = 'captured' where hold_id = any ($1)", holds
            )
            await runtime.execute(
                INSERT_SETTLEMENT, new_id(), room.room_id, holders, bet, pool, version
            )

    for holders, bet, pool, version, holds, rule in (
        (two, 100, 201, 1, room.holds, "settlement_pool"),
        (two, 50, 100, 1, room.holds, "captured_for_game"),
        ([two[0], new_id()], 100, 200, 1, room.holds, "captured_for_game"),
        ([two[0], two[0]], 100, 200, 1, room.holds, "captured_for_game"),
        (two, 100, 200, 1, room.holds[:1], "captured_for_game"),
        (two, 100, 200, 1, [], "captured_for_game"),
        (two[:1], 100, 100, 1, room.holds[:1], "settlement_payout_config"),
        (two, 100, 200, 7, room.holds, "settlement_payout_config"),
    ):
        assert await refused(attempt(holders, bet, pool, version, holds)) == rule


async def test_room_without_an_escrow_has_no_game(runtime: Connection) -> None:
    holders = [new_id(), new_id()]

    rule = await refused(
        runtime.execute(INSERT_SETTLEMENT, new_id(), new_id(), holders, 100, 200, 1)
    )

    assert rule == "settlement_escrow"


async def test_room_has_one_game(client: Client, runtime: Connection) -> None:
    room = await client.captured_room()

    rule = await refused(
        runtime.execute(INSERT_SETTLEMENT, new_id(), room.room_id, room.players, 100, 200, 1)
    )

    assert rule == "settlement_room"


async def test_no_bet_comes_into_a_captured_room(client: Client, runtime: Connection) -> None:
    room = await client.captured_room()

    rule = await refused(
        insert_transfer(runtime, "bet", player(room), escrow(room), 5, room_id=room.room_id)
    )

    assert rule == "room_captured"


async def test_older_snapshot_does_not_get_past_a_capture(
    client: Client, runtime: Connection
) -> None:
    room = await client.staked_room(bet=100)
    late = new_id()
    await client.balance(late)

    async def join_late() -> None:
        async with runtime.transaction(isolation="repeatable_read"):
            await runtime.execute(INSERT_HOLD, new_id(), late, room.room_id, 100, "held")
            await client.capture(room)
            await insert_transfer(
                runtime, "bet", ("player", late), escrow(room), 100, room_id=room.room_id
            )

    with pytest.raises(asyncpg.SerializationError):
        await join_late()


@pytest.mark.parametrize("change", ["bet = 1, pool = 2", "room_id = gen_random_uuid()",
    "payout_config_version = 2", "captured_at = now()", "game_id = gen_random_uuid()"])  # fmt: skip
async def test_what_was_captured_never_changes(
    change: str, client: Client, owner: Connection
) -> None:
    room = await client.captured_room()

    rule = await refused(
        owner.execute(f"update settlement set {change} where game_id = $1", room.game_id)
    )

    assert rule == "settlement_immutable"


# --- settlements ----------------------------------------------------------------------------------

Pay = Callable[[list[tuple[str, tuple[str, UUID], int]], str, list[int | None]], Awaitable[None]]


def settling(connection: Connection, room: Room, forfeiter: UUID | None = None) -> Pay:
    """Return a function that settles a room by hand: transfers, kind, places."""

    async def pay(
        transfers: list[tuple[str, tuple[str, UUID], int]], kind: str, places: list[int | None]
    ) -> None:
        ids = {"room_id": room.room_id, "game_id": room.game_id}
        async with connection.transaction():
            for reason, credit, amount in transfers:
                await insert_transfer(connection, reason, escrow(room), credit, amount, **ids)
            await connection.execute(
                """
                update settlement set finish_kind = $2, places = $3, forfeiter = $4,
                  request_hash = '', finalized_at = now()
                where game_id = $1
                """,
                room.game_id,
                kind,
                places,
                forfeiter,
            )

    return pay


async def test_settlement_that_is_not_due_does_not_commit(
    client: Client, runtime: Connection
) -> None:
    room = await client.captured_room(bet=100)
    stranger = new_id()
    await client.balance(stranger)
    anna, boris, other = player(room), player(room, 1), ("player", stranger)
    pay = settling(runtime, room)
    cases: list[tuple[list[tuple[str, tuple[str, UUID], int]], str, list[int | None], str]] = [
        ([], "normal", [1, 2], "escrow_balanced"),
        ([("payout", anna, 175)], "normal", [1, 2], "escrow_balanced"),
        ([("payout", anna, 174), ("rake", HOUSE, 26)], "normal", [1, 2], "settlement_due"),
        ([("payout", anna, 175), ("rake", HOUSE, 25)], "normal", [2, 1], "settlement_due"),
        ([("payout", anna, 175), ("rake", HOUSE, 25)], "normal", [1, 1], "settlement_permutation"),
        ([("payout", anna, 175), ("rake", HOUSE, 25)], "normal", [1, None],
         "settlement_permutation"),
        ([("payout", anna, 175), ("rake", HOUSE, 25)], "normal", [1], "settlement_places"),
        ([("refund", anna, 175), ("rake", HOUSE, 25)], "normal", [1, 2], "account_held_floor"),
        ([("payout", boris, 175), ("rake", HOUSE, 25)], "normal", [1, 2], "settlement_due"),
        ([("payout", anna, 175), ("payout", boris, 25)], "normal", [1, 2], "settlement_due"),
        ([("rake", HOUSE, 200)], "normal", [1, 2], "settlement_due"),
        ([("payout", anna, 175), ("rake", HOUSE, 20), ("rake", HOUSE, 5)], "normal", [1, 2],
         "settlement_due"),
        ([("refund", anna, 100), ("rake", HOUSE, 100)], "cancelled", [None, None],
         "settlement_due"),
        ([("payout", anna, 100), ("payout", boris, 100)], "cancelled", [None, None],
         "settlement_due"),
        ([("refund", anna, 100), ("rake", HOUSE, 100)], "forfeit", [None, None],
         "settlement_forfeiter"),
        ([("payout", other, 175), ("rake", HOUSE, 25)], "normal", [1, 2], "account_held_floor"),
    ]  # fmt: skip
    for transfers, kind, places, rule in cases:
        assert await refused(pay(transfers, kind, places)) == rule, (transfers, kind, places)


async def test_player_is_credited_at_most_once_by_a_settlement(
    client: Client, runtime: Connection
) -> None:
    room = await client.captured_room(bet=100)
    anna = player(room)
    split = [("payout", anna, 100), ("payout", anna, 75), ("rake", HOUSE, 25)]

    with pytest.raises(RULES):
        await settling(runtime, room)(split, "normal", [1, 2])


async def test_forfeit_by_hand_must_take_the_forfeiters_stake(
    client: Client, runtime: Connection
) -> None:
    room = await client.captured_room(bet=100)
    anna, boris = player(room), player(room, 1)
    pay = settling(runtime, room, forfeiter=anna[1])

    assert (
        await refused(pay([("refund", anna, 100), ("rake", HOUSE, 100)], "forfeit", [None, None]))
        == "settlement_due"
    )
    await pay([("refund", boris, 100), ("rake", HOUSE, 100)], "forfeit", [None, None])

    assert [(await client.balance(p)).held for p in room.players] == [0, 0]


async def test_money_that_leaves_an_open_escrow_must_close_it(
    client: Client, runtime: Connection
) -> None:
    room = await client.captured_room(bet=100)
    ids = {"room_id": room.room_id, "game_id": room.game_id}

    rule = await refused(insert_transfer(runtime, "payout", escrow(room), player(room), 175, **ids))

    assert rule == "escrow_balanced"


async def test_finalized_escrow_and_result_are_closed(
    client: Client, runtime: Connection, owner: Connection
) -> None:
    room = await client.captured_room(bet=100)
    await client.settle(a_result(room, FinishKind.CANCELLED))
    ids = {"room_id": room.room_id, "game_id": room.game_id}
    transfers = (
        ("payout", escrow(room), player(room), ids),
        ("refund", escrow(room), player(room), {"room_id": room.room_id}),
        ("rake", escrow(room), HOUSE, ids),
        ("bet", player(room), escrow(room), {"room_id": room.room_id}),
    )
    changes = (
        "finalized_at = null, finish_kind = null, places = null, request_hash = null",
        "finish_kind = 'normal'",
        "next_check_at = now()",
    )

    for connection in (runtime, owner):
        for reason, debit, credit, columns in transfers:
            rule = await refused(insert_transfer(connection, reason, debit, credit, 1, **columns))
            assert rule == "escrow_finalized"
        for change in changes:
            statement = f"update settlement set {change} where game_id = $1"
            assert await refused(connection.execute(statement, room.game_id)) == "settlement_final"


async def test_half_a_result_is_refused(client: Client, runtime: Connection) -> None:
    room = await client.captured_room()

    rule = await refused(
        runtime.execute(
            "update settlement set finish_kind = 'normal' where game_id = $1", room.game_id
        )
    )

    assert rule == "settlement_result"


# --- payout tables --------------------------------------------------------------------------------


async def create_payout_config(
    connection: Connection, version: int, rows: list[tuple[int, int, int, int]]
) -> None:
    async with connection.transaction():
        await connection.executemany(
            "insert into payout_config values ($1, $2, $3, $4, $5)",
            [(version, *row) for row in rows],
        )


FAIR = [
    (2, 1, 1, 1), (2, 2, 0, 1),
    (3, 1, 1, 3), (3, 2, 1, 3), (3, 3, 1, 3),
    (4, 1, 1, 2), (4, 2, 1, 3), (4, 3, 1, 6), (4, 4, 0, 1),
]  # fmt: skip


async def test_payout_table_is_sealed_when_it_is_created(owner: Connection) -> None:
    too_much = [*FAIR[:4], (3, 3, 33_333_334, 100_000_000), *FAIR[5:]]

    assert await refused(create_payout_config(owner, 100, too_much)) == "payout_config_sum"
    assert await refused(create_payout_config(owner, 100, FAIR[:8])) == "payout_config_complete"
    await create_payout_config(owner, 100, FAIR)  # exactly 1, with thirds and sixths

    for row in ((2, 3, 0, 1), (5, 1, 0, 1), (2, 1, 0, 1), (2, 0, 0, 1)):
        assert await refused(create_payout_config(owner, 100, [row])) in (
            "payout_config_place", "payout_config_players", "payout_config_pkey",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("row", "rule"),
    [((2, 1, -1, 8), "payout_config_numerator"), ((2, 1, 1, 0), "payout_config_denominator")],
)
async def test_payout_share_is_a_fraction(
    row: tuple[int, int, int, int], rule: str, owner: Connection
) -> None:
    assert await refused(create_payout_config(owner, 101, [row])) == rule


async def test_version_one_is_the_published_table(runtime: Connection) -> None:
    rows = await runtime.fetch(
        """
        select players_count, numerator, denominator from payout_config where version = 1
        order by players_count, place
        """
    )

    table: dict[int, list[str]] = {}
    for players_count, numerator, denominator in rows:
        table.setdefault(players_count, []).append(f"{numerator}/{denominator}")
    assert table == {
        2: ["7/8", "0/1"],
        3: ["1/2", "3/8", "0/1"],
        4: ["1/2", "1/4", "1/8", "0/1"],
    }


# --- the specification's shapes -------------------------------------------------------------------


async def test_views_show_the_shapes_of_the_specification(
    client: Client, runtime: Connection
) -> None:
    room = await client.captured_room(bet=100)
    await client.settle(a_result(room))
    winner, loser = room.players

    money = await runtime.fetchval("select money from players where id = $1", winner)
    holds = await runtime.fetch(
        "select player_id, amount, status from balance_holds where room_id = $1", room.room_id
    )
    game = await runtime.fetchrow("select * from games where id = $1", room.game_id)
    entries = await runtime.fetch(
        """
        select player_id, amount, reason, idempotency_key from transactions
        where game_id = $1 or player_id = $2 and reason = 'bet' order by amount
        """,
        room.game_id,
        winner,
    )

    assert money == 1075
    assert game is not None
    assert {tuple(hold) for hold in holds} == {
        (winner, 100, "captured"),
        (loser, 100, "captured"),
    }
    assert (game["pool"], game["finish_kind"], game["payout_config_version"]) == (200, "normal", 1)
    assert game["finalized_at"] is not None
    assert [tuple(entry) for entry in entries] == [
        (winner, -100, "bet", f"hold:{room.holds[0]}:bet"),
        (None, 25, "rake", f"game:{room.game_id}:rake"),
        (winner, 175, "payout", f"game:{room.game_id}:player:{winner}:payout"),
    ]
