"""The transfers: keys as published, debit and credit the right way round."""

from uuid import UUID

import pytest

from economy.domain import ledger
from economy.domain.ledger import HOUSE, MINT, Reason, Stake, escrow, player
from shared.contracts import economy as contract

ANNA, BORIS = UUID(int=1), UUID(int=2)
ROOM, GAME, HOLD = UUID(int=3), UUID(int=4), UUID(int=5)
STAKE = Stake(HOLD, ANNA, ROOM, 40)


def test_bet_moves_the_stake_into_the_escrow_of_the_room() -> None:
    transfer = ledger.bet(STAKE)

    assert (transfer.debit, transfer.credit) == (player(ANNA), escrow(ROOM))
    assert (transfer.key, transfer.amount) == (f"hold:{HOLD}:bet", 40)
    assert (transfer.room_id, transfer.game_id) == (ROOM, None)


def test_refund_of_a_hold_is_the_way_back_without_a_game() -> None:
    transfer = ledger.refund(STAKE)

    assert (transfer.debit, transfer.credit) == (escrow(ROOM), player(ANNA))
    assert (transfer.key, transfer.amount) == (f"hold:{HOLD}:refund", 40)
    assert (transfer.room_id, transfer.game_id) == (ROOM, None)


def test_settlement_pays_each_player_once_and_leaves_the_rake() -> None:
    transfers = ledger.settlement(GAME, ROOM, Reason.PAYOUT, {ANNA: 70, BORIS: 0}, 10)

    assert [(t.key, t.credit, t.amount, t.reason) for t in transfers] == [
        (f"game:{GAME}:player:{ANNA}:payout", player(ANNA), 70, Reason.PAYOUT),
        (f"game:{GAME}:rake", HOUSE, 10, Reason.RAKE),
    ]
    assert {t.debit for t in transfers} == {escrow(ROOM)}
    assert {t.game_id for t in transfers} == {GAME}


def test_refunds_of_a_game_have_keys_of_their_own() -> None:
    (transfer,) = ledger.settlement(GAME, ROOM, Reason.REFUND, {ANNA: 40}, 0)

    assert transfer.key == f"game:{GAME}:player:{ANNA}:refund"


def test_grant_comes_from_the_mint_once_for_each_player() -> None:
    transfer = ledger.grant(ANNA, 1000)

    assert (transfer.debit, transfer.credit) == (MINT, player(ANNA))
    assert transfer.key == f"signup:{ANNA}"


@pytest.mark.parametrize(
    ("amount", "debit", "credit"), [(5, MINT, player(ANNA)), (-5, player(ANNA), MINT)]
)
def test_adjustment_goes_up_from_the_mint_and_down_into_it(
    amount: int, debit: ledger.Account, credit: ledger.Account
) -> None:
    transfer = ledger.adjustment("T-1", ANNA, amount)

    assert (transfer.debit, transfer.credit, transfer.amount) == (debit, credit, 5)
    assert transfer.key == f"admin:T-1:{ANNA}"


def test_reasons_are_those_of_the_contract() -> None:
    assert [reason.value for reason in Reason] == [reason.value for reason in contract.Reason]
