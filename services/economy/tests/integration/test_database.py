"""What PostgreSQL itself refuses about accounts, transfers and payout tables, to any role."""

from uuid import UUID

import asyncpg
import pytest

from shared.ids import new_id
from tests.integration.bank import Client, a_result
from tests.integration.by_hand import (
    HOUSE,
    MINT,
    Connection,
    account_id,
    balance_of,
    escrow,
    insert_transfer,
    player,
    refused,
)

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
