"""The commands of economy, called over NATS by those who may call them."""

import asyncio
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from shared.contracts import economy as contract
from shared.contracts.base import Command, Message
from shared.contracts.economy import (
    Adjust,
    Balance,
    Credit,
    FinishKind,
    HoldStatus,
    ListTransfers,
    Reason,
    Transfers,
)
from shared.errors import (
    HoldFailed,
    IdempotencyMismatch,
    InsufficientFunds,
    InvalidBet,
    InvalidRequest,
)
from shared.ids import new_id
from shared.money import MAX_BET
from tests.integration.bank import (
    Client,
    Pushes,
    Room,
    a_capture,
    a_hold,
    a_release,
    a_result,
    eventually,
)


async def funded(client: Client, money: int) -> UUID:
    """Return a new player with exactly this much money."""
    player_id = new_id()
    await client.balance(player_id)
    if money != 1000:
        await adjust(client, player_id, money - 1000)
    return player_id


async def adjust(client: Client, player_id: UUID, amount: int, **changes: str) -> Balance:
    values = {"ticket": str(new_id()), "note": "test", "actor": "tester"} | changes
    request = Adjust(player_id=player_id, amount=amount, **values)
    return await client.call("operator", contract.ADJUST, request)


async def transfers(client: Client, player_id: UUID, **page: object) -> Transfers:
    request = ListTransfers(player_id=player_id, **page)
    return await client.call("realtime", contract.LIST_TRANSFERS, request)


async def amounts(client: Client, player_id: UUID) -> list[tuple[str, int]]:
    """Return a player's ledger without its opening, oldest first."""
    page = await transfers(client, player_id)
    opening = (Reason.GRANT, Reason.ADMIN_ADJUSTMENT)
    return [(t.reason.value, t.amount) for t in reversed(page.items) if t.reason not in opening]


# --- accounts -------------------------------------------------------------------------------------


async def test_first_balance_of_a_registered_player_is_the_opening_grant(client: Client) -> None:
    player_id = new_id()

    first = await client.balance(player_id)
    again = await client.balance(player_id)

    assert (first.available, first.held) == (1000, 0)
    assert again == first
    (grant,) = (await transfers(client, player_id)).items
    assert (grant.reason, grant.amount, grant.room_id) == (Reason.GRANT, 1000, None)


async def test_parallel_first_balances_grant_once(client: Client) -> None:
    player_id = new_id()

    balances = await asyncio.gather(*(client.balance(player_id) for _ in range(8)))

    assert {balance.available for balance in balances} == {1000}
    assert len((await transfers(client, player_id)).items) == 1


async def test_guests_have_no_account_and_cannot_stake(client: Client) -> None:
    guest_id = new_id()

    balance = await client.balance(guest_id, registered=False)
    with pytest.raises(InsufficientFunds):
        await client.place(a_hold(guest_id, new_id(), 1, registered=False))

    assert (balance.available, balance.held, balance.version) == (0, 0, 0)
    assert (await client.balance(guest_id)).available == 1000  # once he signs up


async def test_version_of_a_balance_grows_with_every_change(client: Client) -> None:
    room = await client.staked_room()
    winner, loser = room.players
    staked = [await client.balance(player) for player in room.players]

    await client.capture(room)
    assert [await client.balance(player) for player in room.players] == staked
    await client.settle(a_result(room))

    assert (await client.balance(winner)).version > staked[0].version
    assert (await client.balance(loser)).version > staked[1].version  # held went to 0


# --- holds ----------------------------------------------------------------------------------------


async def test_ec01_join_takes_the_bet_into_a_hold(client: Client) -> None:
    player_id = await funded(client, 100)
    hold = a_hold(player_id, new_id(), 40)

    view = await client.place(hold)

    balance = await client.balance(player_id)
    assert (view.hold_id, view.status) == (hold.hold_id, HoldStatus.HELD)
    assert (balance.available, balance.held) == (60, 40)
    assert await amounts(client, player_id) == [("bet", -40)]


async def test_ec02_exact_balance_is_enough(client: Client) -> None:
    player_id = await funded(client, 40)

    await client.place(a_hold(player_id, new_id(), 40))

    assert (await client.balance(player_id)).available == 0


async def test_ec03_one_unit_short_is_refused_and_leaves_nothing(client: Client) -> None:
    player_id = await funded(client, 39)
    hold = a_hold(player_id, new_id(), 40)

    with pytest.raises(InsufficientFunds):
        await client.place(hold)

    assert (await client.balance(player_id)).available == 39
    assert (await client.hold(hold.hold_id)).status is None
    assert await amounts(client, player_id) == []


async def test_ec05_of_two_parallel_joins_with_money_for_one_exactly_one_wins(
    client: Client,
) -> None:
    player_id = await funded(client, 50)
    holds = [a_hold(player_id, new_id(), 40) for _ in range(2)]

    results = await asyncio.gather(*(client.place(hold) for hold in holds), return_exceptions=True)

    assert sum(isinstance(result, InsufficientFunds) for result in results) == 1
    assert (await client.balance(player_id)).available == 10


async def test_ec07_cancelled_room_gives_the_stake_back(client: Client) -> None:
    player_id = await funded(client, 100)
    hold = a_hold(player_id, new_id(), 40)
    await client.place(hold)

    view = await client.release(a_release(hold))

    balance = await client.balance(player_id)
    assert view.status is HoldStatus.RELEASED
    assert (balance.available, balance.held) == (100, 0)
    assert await amounts(client, player_id) == [("bet", -40), ("refund", 40)]


@pytest.mark.parametrize("amount", [0, -5, MAX_BET + 1, 2**70])
async def test_ec15_bets_out_of_bounds_are_refused(client: Client, amount: int) -> None:
    with pytest.raises(InvalidBet):
        await client.place(a_hold(new_id(), new_id(), amount))


async def test_first_hold_of_a_registered_player_opens_his_account(client: Client) -> None:
    player_id = new_id()

    await client.place(a_hold(player_id, new_id(), 400))

    assert (await client.balance(player_id)).available == 600


async def test_repeated_hold_takes_the_stake_once(client: Client) -> None:
    hold = a_hold(new_id(), new_id(), 40)

    views = await asyncio.gather(*(client.place(hold) for _ in range(6)))

    assert {view.status for view in views} == {HoldStatus.HELD}
    assert (await client.balance(hold.player_id)).available == 960


@pytest.mark.parametrize("change", ["amount", "player_id", "room_id"])
async def test_same_hold_id_with_other_content_is_a_mismatch(client: Client, change: str) -> None:
    hold = a_hold(new_id(), new_id(), 40)
    await client.place(hold)
    other = hold.model_copy(update={change: 41 if change == "amount" else new_id()})

    with pytest.raises(IdempotencyMismatch):
        await client.place(other)
    with pytest.raises(IdempotencyMismatch):
        await client.release(a_release(other))


async def test_repeated_release_gives_back_once(client: Client) -> None:
    hold = a_hold(new_id(), new_id(), 40)
    await client.place(hold)

    views = await asyncio.gather(*(client.release(a_release(hold)) for _ in range(6)))

    assert {view.status for view in views} == {HoldStatus.RELEASED}
    assert (await client.balance(hold.player_id)).available == 1000


async def test_repeated_hold_after_its_release_answers_released_and_takes_nothing(
    client: Client,
) -> None:
    hold = a_hold(new_id(), new_id(), 40)
    await client.place(hold)
    await client.release(a_release(hold))

    view = await client.place(hold)

    assert view.status is HoldStatus.RELEASED
    assert (await client.balance(hold.player_id)).available == 1000


async def test_j4_release_of_an_unknown_hold_leaves_a_tombstone_that_refuses_the_late_hold(
    client: Client,
) -> None:
    hold = a_hold(new_id(), new_id(), 40)

    released = await client.release(a_release(hold))
    late = await client.place(hold)

    assert released.status is late.status is HoldStatus.RELEASED
    assert (await client.hold(hold.hold_id)).status is HoldStatus.RELEASED
    assert (await client.balance(hold.player_id)).available == 1000


async def test_hold_races_its_own_release_and_the_money_is_back(client: Client) -> None:
    for _ in range(20):
        hold = a_hold(new_id(), new_id(), 40)
        await client.balance(hold.player_id)

        await asyncio.gather(client.place(hold), client.release(a_release(hold)))

        balance = await client.balance(hold.player_id)
        assert (balance.available, balance.held) == (1000, 0)


async def test_new_hold_waits_for_the_release_of_the_old_one_in_that_room(client: Client) -> None:
    old = a_hold(new_id(), new_id(), 40)
    new = a_hold(old.player_id, old.room_id, 40)
    await client.place(old)

    with pytest.raises(HoldFailed) as refusal:
        await client.place(new)
    await client.release(a_release(old))
    view = await client.place(new)

    assert refusal.value.details == {"retryable": True}
    assert view.status is HoldStatus.HELD
    assert (await client.balance(old.player_id)).available == 960


async def test_ec14_releasing_twice_in_recovery_pays_once(client: Client) -> None:
    room = await client.staked_room(bet=40)

    await client.release(room.release(0))
    await client.release(room.release(0))

    assert (await client.balance(room.players[0])).available == 1000


# --- capture --------------------------------------------------------------------------------------


async def test_capture_fixes_the_pool_and_repeats_itself(client: Client) -> None:
    room = await client.staked_room(bet=100, players=3)

    captured = [await client.capture(room) for _ in range(2)]

    assert [answer.pool for answer in captured] == [300, 300]
    assert [(await client.hold(hold)).status for hold in room.holds] == [HoldStatus.CAPTURED] * 3
    balance = await client.balance(room.players[0])
    assert (balance.available, balance.held) == (900, 100)
    view = await client.settlement(room.game_id)
    assert view.captured
    assert view.settlement is None


async def test_parallel_captures_of_a_game_agree(client: Client) -> None:
    room = await client.staked_room()

    answers = await asyncio.gather(*(client.capture(room) for _ in range(6)))

    assert {answer.pool for answer in answers} == {200}


async def test_capture_with_other_terms_is_a_mismatch(client: Client) -> None:
    room = await client.captured_room(bet=8)
    other_holders = [*reversed(room.refs)]

    for change in ({"bet": 9}, {"payout_config_version": 2}, {"holds": other_holders},
                   {"room_id": new_id()}):  # fmt: skip
        with pytest.raises(IdempotencyMismatch):
            await client.capture(room, **change)


@pytest.mark.parametrize("flaw", ["released", "unknown", "other bet", "other player", "twice"])
async def test_capture_is_all_or_nothing(client: Client, flaw: str) -> None:
    room = await client.staked_room(bet=40)
    refs, bet = list(room.refs), 40
    match flaw:
        case "released":
            await client.release(room.release(1))
        case "unknown":
            refs[1] = refs[1].model_copy(update={"hold_id": new_id()})
        case "other bet":
            bet = 41
        case "other player":
            refs[1] = refs[1].model_copy(update={"player_id": new_id()})
        case "twice":
            refs[1] = refs[0]

    with pytest.raises(HoldFailed):
        await client.capture(room, bet=bet, holds=refs)

    assert (await client.hold(room.holds[0])).status is HoldStatus.HELD
    assert not (await client.settlement(room.game_id)).captured


async def test_capture_for_another_game_of_the_room_is_refused(client: Client) -> None:
    room = await client.captured_room()

    with pytest.raises(HoldFailed):
        await client.capture(room, game_id=new_id())


async def test_unknown_payout_table_is_refused(client: Client) -> None:
    room = await client.staked_room()

    with pytest.raises(InvalidRequest):
        await client.capture(room, payout_config_version=999)

    assert (await client.capture(room)).pool == 200


async def test_captured_stake_can_be_neither_released_nor_joined(client: Client) -> None:
    room = await client.captured_room(bet=40)

    with pytest.raises(HoldFailed):
        await client.release(room.release(0))
    with pytest.raises(HoldFailed) as late:
        await client.place(a_hold(new_id(), room.room_id, 40))
    with pytest.raises(HoldFailed) as again:
        await client.place(a_hold(room.players[0], room.room_id, 40))

    assert late.value.details == again.value.details == {"retryable": False}


async def test_capture_releases_stakes_of_those_who_do_not_play(client: Client) -> None:
    room = await client.staked_room(bet=40, players=3)
    stranger = room.players.pop()
    stray = room.holds.pop()

    await client.capture(room)

    assert (await client.hold(stray)).status is HoldStatus.RELEASED
    assert (await client.balance(stranger)).available == 1000


async def test_hold_races_the_capture_of_its_room_and_is_never_stuck(client: Client) -> None:
    for _ in range(10):
        room = await client.staked_room(bet=40)
        late = a_hold(new_id(), room.room_id, 40)
        await client.balance(late.player_id)

        await asyncio.gather(client.capture(room), client.place(late), return_exceptions=True)

        assert (await client.hold(late.hold_id)).status is not HoldStatus.HELD
        assert (await client.balance(late.player_id)).available == 1000
        await client.settle(a_result(room))


# --- settlement -----------------------------------------------------------------------------------


async def money(client: Client, room: Room) -> list[tuple[int, int]]:
    balances = [await client.balance(player) for player in room.players]
    return [(balance.available, balance.held) for balance in balances]


async def test_normal_game_pays_by_places(client: Client) -> None:
    room = await client.captured_room(bet=100, players=4)

    settlement = await client.settle(a_result(room, places=[3, 1, 4, 2]))

    third, first, _, second = room.players
    assert (settlement.pool, settlement.rake) == (400, 50)
    assert settlement.credits == tuple(
        Credit(player_id=player, amount=amount, reason=Reason.PAYOUT)
        for player, amount in ((third, 50), (first, 200), (second, 100))
    )
    assert await money(client, room) == [(950, 0), (1100, 0), (900, 0), (1000, 0)]
    assert (await client.settlement(room.game_id)).settlement == settlement.model_copy(
        update={"already_finalized": True}
    )


async def test_forfeit_gives_the_forfeited_stake_to_the_house(client: Client) -> None:
    room = await client.captured_room(bet=100, players=4)
    result = a_result(room, FinishKind.FORFEIT, forfeiter=room.players[2])

    settlement = await client.settle(result)

    assert settlement.rake == 100
    assert {credit.reason for credit in settlement.credits} == {Reason.REFUND}
    assert await money(client, room) == [(1000, 0), (1000, 0), (900, 0), (1000, 0)]


async def test_forfeit_after_a_first_place_is_still_a_refund(client: Client) -> None:
    room = await client.captured_room(bet=100, players=3)
    result = a_result(room, FinishKind.FORFEIT, places=[1, None, None], forfeiter=room.players[1])

    await client.settle(result)

    assert await money(client, room) == [(1000, 0), (900, 0), (1000, 0)]


async def test_cancelled_game_gives_everything_back(client: Client) -> None:
    room = await client.captured_room(bet=7, players=3)

    settlement = await client.settle(a_result(room, FinishKind.CANCELLED))

    assert settlement.rake == 0
    assert await money(client, room) == [(1000, 0)] * 3
    assert await amounts(client, room.players[0]) == [("bet", -7), ("refund", 7)]


async def test_leaver_with_the_last_place_is_paid_by_places(client: Client) -> None:
    room = await client.captured_room(bet=100)

    await client.settle(a_result(room, places=[2, 1], forfeiter=room.players[0]))

    assert await money(client, room) == [(900, 0), (1075, 0)]


async def test_ec10_settling_twice_returns_the_stored_result_and_pays_once(client: Client) -> None:
    room = await client.captured_room()

    first, *repeated = [await client.settle(a_result(room)) for _ in range(3)]

    assert not first.already_finalized
    assert all(settlement.already_finalized for settlement in repeated)
    assert {s.model_copy(update={"already_finalized": False}) for s in repeated} == {first}
    assert await amounts(client, room.players[0]) == [("bet", -100), ("payout", 175)]


async def test_parallel_settlements_of_a_game_pay_once(client: Client) -> None:
    room = await client.captured_room(players=4)

    settlements = await asyncio.gather(*(client.settle(a_result(room)) for _ in range(8)))

    assert sum(not settlement.already_finalized for settlement in settlements) == 1
    assert (await client.balance(room.players[0])).available == 1100


async def test_other_result_of_a_settled_game_is_a_mismatch(client: Client) -> None:
    room = await client.captured_room()
    await client.settle(a_result(room))

    for other in (a_result(room, places=[2, 1]), a_result(room, FinishKind.CANCELLED)):
        with pytest.raises(IdempotencyMismatch):
            await client.settle(other)


async def test_result_of_other_players_or_another_room_is_a_mismatch(client: Client) -> None:
    room = await client.captured_room()
    result = a_result(room)
    stranger = result.standings[0].model_copy(update={"player_id": new_id()})

    for change in (
        {"standings": (stranger, result.standings[1])},
        {"standings": result.standings[:1]},
        {"standings": (*result.standings, stranger)},
        {"standings": (result.standings[0], result.standings[0])},
        {"room_id": new_id()},
    ):
        with pytest.raises(IdempotencyMismatch):
            await client.settle(result.model_copy(update=change))
    assert not (await client.settle(result)).already_finalized


async def test_result_that_contradicts_itself_is_refused(client: Client) -> None:
    room = await client.captured_room()

    for result in (
        a_result(room, places=[1, 1]),
        a_result(room, places=[1, None]),
        a_result(room, FinishKind.FORFEIT),
    ):
        with pytest.raises(InvalidRequest):
            await client.settle(result)
    assert await money(client, room) == [(900, 100)] * 2


async def test_game_that_was_never_captured_cannot_be_settled(client: Client) -> None:
    room = await client.staked_room()

    with pytest.raises(HoldFailed):
        await client.settle(a_result(room))

    assert not (await client.settlement(room.game_id)).captured


async def test_f4_settlement_that_the_ledger_refuses_stays_in_escrow(
    client: Client, admin: asyncpg.Connection
) -> None:
    room = await client.captured_room()

    async def set_escrow(balance: int) -> None:
        """Damage, or repair, the escrow behind the triggers' back."""
        await admin.execute("set session_replication_role = replica")
        await admin.execute(
            "update account set balance = $1 where owner_id = $2", balance, room.room_id
        )

    await set_escrow(1)
    try:
        with pytest.raises(HoldFailed):
            await client.settle(a_result(room))
        assert await money(client, room) == [(900, 100)] * 2
    finally:
        await set_escrow(200)

    assert not (await client.settle(a_result(room))).already_finalized


# --- the rest -------------------------------------------------------------------------------------


async def test_adjustment_is_made_once_and_leaves_a_note(client: Client) -> None:
    player_id = new_id()

    first = await adjust(client, player_id, 250, ticket="T-1")
    again = await adjust(client, player_id, 250, ticket="T-1")
    down = await adjust(client, player_id, -50, ticket="T-2")

    assert first.available == again.available == 1250
    assert down.available == 1200


async def test_adjustment_refuses_other_content_debts_and_nonsense(client: Client) -> None:
    player_id = new_id()
    await adjust(client, player_id, 5, ticket="T-1")

    with pytest.raises(IdempotencyMismatch):
        await adjust(client, player_id, 6, ticket="T-1")
    with pytest.raises(IdempotencyMismatch):
        await adjust(client, player_id, 5, ticket="T-1", note="another reason")
    with pytest.raises(InsufficientFunds):
        await adjust(client, player_id, -1006, ticket="T-2")
    with pytest.raises(InvalidRequest):
        await adjust(client, player_id, 0)

    assert (await client.balance(player_id)).available == 1005


async def test_what_the_database_could_not_store_is_an_invalid_request(client: Client) -> None:
    room = await client.captured_room()
    result = a_result(room)
    adjustment = Adjust(ticket="T", player_id=new_id(), amount=1, note="test", actor="tester")
    hold = a_hold(new_id(), room.room_id, 40)
    capture = a_capture(room)
    page = ListTransfers(player_id=new_id())

    def settle_place(place: int) -> Message:
        first = result.standings[0].model_copy(update={"place": place})
        return result.model_copy(update={"standings": (first, *result.standings[1:])})

    early = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))
    late = datetime(9999, 12, 31, 23, 59, tzinfo=timezone(timedelta(hours=-14)))
    cases: list[tuple[str, Command[Any, Any], Message]] = [
        *(
            ("game_engine", contract.SETTLE, settle_place(place))
            for place in (2**40, 2**70, 9, 0, -1)
        ),
        *(
            ("operator", contract.ADJUST, adjustment.model_copy(update={field: text}))
            for field in ("ticket", "note", "actor")
            for text in ("a\0b", "a\nb", "\x7f", "\x9b", "")
        ),
        *(
            ("operator", contract.ADJUST, adjustment.model_copy(update={"amount": amount}))
            for amount in (2**63, -(2**70), MAX_BET + 1)
        ),
        *(
            ("lobby", contract.CAPTURE_HOLDS, capture.model_copy(update=change))
            for change in (
                {"payout_config_version": 2**40},
                {"payout_config_version": 0},
                {"bet": 2**70},
                {"bet": 0},
            )
        ),
        *(
            ("lobby", contract.RELEASE_HOLD, a_release(hold).model_copy(update={"amount": amount}))
            for amount in (2**70, 0, -1)
        ),
        *(
            ("lobby", contract.PLACE_HOLD, hold.model_copy(update={"expires_at": moment}))
            for moment in (early, late, datetime(2030, 1, 1))  # noqa: DTZ001  # without a zone
        ),
        *(
            ("realtime", contract.LIST_TRANSFERS, page.model_copy(update={"cursor": cursor}))
            for cursor in ("\0", "1", "x" * 36)
        ),
    ]
    for user, command, request in cases:
        with pytest.raises(InvalidRequest):
            await client.call(user, command, request)
    assert not (await client.settle(result)).already_finalized


async def test_adjustment_keeps_a_balance_within_what_every_client_can_read(
    client: Client,
) -> None:
    player_id = new_id()
    for _ in range(9):
        await adjust(client, player_id, MAX_BET)

    with pytest.raises(InvalidRequest):
        await adjust(client, player_id, MAX_BET)

    assert (await client.balance(player_id)).available == 9 * MAX_BET + 1000


async def test_transfers_are_paged_newest_first(client: Client) -> None:
    player_id = new_id()
    for amount in range(1, 6):
        await adjust(client, player_id, amount)

    pages, cursor = [], None
    while True:
        page = await transfers(client, player_id, limit=2, cursor=cursor)
        pages.append([transfer.amount for transfer in page.items])
        cursor = page.next_cursor
        if cursor is None:
            break

    assert pages == [[5, 4], [3, 2], [1, 1000]]


async def test_foreign_cursor_is_refused_and_an_unknown_player_has_no_transfers(
    client: Client,
) -> None:
    with pytest.raises(InvalidRequest):
        await transfers(client, new_id(), cursor="yesterday")

    assert await transfers(client, new_id()) == Transfers(items=(), next_cursor=None)


async def test_players_are_told_their_new_balance_after_each_change(
    client: Client, pushes: Pushes
) -> None:
    room = await client.captured_room()
    winner, loser = room.players
    await client.settle(a_result(room))

    async def all_arrived() -> bool:
        return len(pushes.of(winner)) == len(pushes.of(loser)) == 3

    await eventually(all_arrived)
    told = [(frame["type"], frame["available"], frame["held"]) for frame in pushes.of(winner)]
    assert told == [
        ("BALANCE_UPDATED", 1000, 0),
        ("BALANCE_UPDATED", 900, 100),
        ("BALANCE_UPDATED", 1075, 0),
    ]
    for player in room.players:
        balance = await client.balance(player)
        last = pushes.of(player)[-1]
        versions = [frame["balance_version"] for frame in pushes.of(player)]
        assert versions == sorted(set(versions))
        assert last["balance_version"] == balance.version
        assert (last["available"], last["held"]) == (balance.available, balance.held)


async def test_repeated_commands_push_nothing(client: Client, pushes: Pushes) -> None:
    room = await client.captured_room()
    await client.settle(a_result(room))

    await client.capture(room)
    await client.settle(a_result(room))
    await client.balance(room.players[0])
    marker = await adjust(client, new_id(), 1)

    async def marker_arrived() -> bool:
        return len(pushes.of(marker.player_id)) == 2

    await eventually(marker_arrived)
    assert len(pushes.of(room.players[0])) == 3
