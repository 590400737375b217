"""What PostgreSQL itself refuses about stakes, captured games and settlements, to any role."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import asyncpg
import pytest

from shared.contracts.economy import FinishKind
from shared.ids import new_id
from tests.integration.bank import Client, Room, a_hold, a_result
from tests.integration.by_hand import (
    HOUSE,
    RULES,
    Connection,
    escrow,
    insert_transfer,
    player,
    refused,
)

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


async def test_stake_goes_back_to_its_owner_and_to_nobody_else(
    client: Client, runtime: Connection
) -> None:
    room, elsewhere = await client.staked_room(bet=100), await client.staked_room(bet=100)
    key = f"hold:{room.holds[0]}:refund"

    async def release_to(credit: tuple[str, UUID], amounts: tuple[int, ...] = (100,)) -> None:
        async with runtime.transaction():
            await runtime.execute(
                "update hold set status = 'released' where hold_id = $1", room.holds[0]
            )
            for amount in amounts:
                await insert_transfer(
                    runtime, "refund", escrow(room), credit, amount,
                    room_id=room.room_id, key=key if amount == 100 else str(new_id()),
                )  # fmt: skip

    # He has coins in another escrow, and so does the neighbour in this one.
    assert await refused(release_to(player(elsewhere))) == "stake_owner"
    assert await refused(release_to(player(room, 1))) == "stake_owner"
    assert await refused(release_to(player(room), (60, 40))) == "stake_owner"
    await release_to(player(room))


async def test_stake_is_paid_by_its_owner(client: Client, runtime: Connection) -> None:
    room, elsewhere = await client.staked_room(bet=100), await client.staked_room(bet=100)

    async def stake(holder: UUID, payer: tuple[str, UUID]) -> None:
        async with runtime.transaction():
            hold_id = new_id()
            await runtime.execute(INSERT_HOLD, hold_id, holder, room.room_id, 100, "held")
            await insert_transfer(
                runtime,
                "bet",
                payer,
                escrow(room),
                100,
                room_id=room.room_id,
                key=f"hold:{hold_id}:bet",
            )

    assert await refused(stake(new_id(), player(elsewhere))) == "stake_owner"
    await stake(elsewhere.players[0], player(elsewhere))


async def test_bet_and_refund_without_a_hold_do_not_commit(
    client: Client, runtime: Connection
) -> None:
    room, elsewhere = await client.staked_room(bet=100), await client.staked_room(bet=100)
    guest = player(elsewhere)

    async def pass_through() -> None:
        async with runtime.transaction():
            for reason, debit, credit in (
                ("bet", guest, escrow(room)),
                ("refund", escrow(room), guest),
            ):
                await insert_transfer(runtime, reason, debit, credit, 7, room_id=room.room_id)

    assert await refused(pass_through()) == "stake_owner"


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


async def test_rake_of_a_settlement_goes_to_the_house_and_nowhere_else(
    client: Client, runtime: Connection
) -> None:
    room, elsewhere = await client.captured_room(bet=100), await client.staked_room(bet=100)

    # As a release, which names no game; everybody here has coins in another escrow too.
    for player_id in room.players:
        await client.place(a_hold(player_id, elsewhere.room_id, 100))
    for thief in (player(elsewhere), player(room), player(room, 1)):

        async def settle(thief: tuple[str, UUID] = thief) -> None:
            async with runtime.transaction():
                await insert_transfer(
                    runtime, "refund", escrow(room), thief, 25, room_id=room.room_id
                )
                await settling(runtime, room)([("payout", player(room), 175)], "normal", [1, 2])

        assert await refused(settle()) == "stake_owner"

    # And as a part of the settlement.
    for credits in (
        [("payout", player(room), 175), ("refund", player(elsewhere), 25)],
        [("payout", player(room), 175), ("payout", player(room, 1), 25)],
    ):
        with pytest.raises(RULES):
            await settling(runtime, room)(credits, "normal", [1, 2])
    assert not (await client.settle(a_result(room))).already_finalized


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
