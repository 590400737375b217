"""Division of pools: the published vectors, and properties for any table and any pool."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from economy.domain import payout
from economy.domain.ledger import Reason
from economy.domain.payout import Share
from shared.errors import InvalidRequest

VECTORS = Path(__file__).parents[4] / "tests" / "vectors" / "durak.json"
PLAYERS = [UUID(int=seat + 1) for seat in range(4)]


def settlement_vectors() -> list[dict[str, Any]]:
    vectors = json.loads(VECTORS.read_text())["vectors"]
    return [vector for vector in vectors if vector["kind"] == "settlement"]


@pytest.mark.parametrize("vector", settlement_vectors(), ids=lambda vector: vector["id"])
def test_settlement_vectors_are_paid_exactly(vector: dict[str, Any]) -> None:
    given, then = vector["given"], vector["then"]
    holders = PLAYERS[: given["players"]]

    match then["finish_kind"]:
        case "normal":
            shares = [Share(s["numerator"], s["denominator"]) for s in given["payout_config"]]
            places = {PLAYERS[int(seat)]: place for seat, place in given["places"].items()}
            division = payout.by_places(given["pool"], shares, places)
        case "forfeit":
            division = payout.forfeit(given["bet"], holders, PLAYERS[given["forfeiter"]])
        case _:
            division = payout.cancelled(given["bet"], holders)

    due = {PLAYERS[int(seat)]: amount for seat, amount in then["payouts"].items()}
    assert division.credits == due
    assert division.rake == then["rake"]
    assert sum(division.credits.values()) + division.rake == given["pool"]


@st.composite
def tables(draw: st.DrawFn) -> list[Share]:
    """A payout table of two to four places whose parts do not exceed the whole."""
    numerators = draw(st.lists(st.integers(0, 100), min_size=2, max_size=4))
    denominator = draw(st.integers(max(1, sum(numerators)), 1000))
    return [Share(numerator, denominator) for numerator in numerators]


@given(tables(), st.integers(0, 2**63 - 1), st.randoms(use_true_random=False))
def test_any_table_pays_the_pool_and_rounds_down(shares: list[Share], pool: int, rng: Any) -> None:
    holders = PLAYERS[: len(shares)]
    order = list(range(1, len(shares) + 1))
    rng.shuffle(order)
    places: dict[UUID, int | None] = dict(zip(holders, order, strict=True))

    division = payout.by_places(pool, shares, places)

    assert division.reason is Reason.PAYOUT
    assert sum(division.credits.values()) + division.rake == pool
    assert division.rake >= 0
    for holder, place in zip(holders, order, strict=True):
        share = shares[place - 1]
        exact = Fraction(pool * share.numerator, share.denominator)
        assert 0 <= exact - division.credits[holder] < 1


@pytest.mark.parametrize("places", [(1, 1), (1, None), (0, 1), (2, 3), (None, None)])
def test_places_that_are_no_permutation_are_refused(places: tuple[int | None, ...]) -> None:
    shares = [Share(7, 8), Share(0, 1)]

    with pytest.raises(InvalidRequest):
        payout.by_places(200, shares, dict(zip(PLAYERS[:2], places, strict=True)))


@given(st.integers(1, 10**15), st.integers(2, 4), st.integers(0, 3))
def test_forfeit_takes_one_stake_and_gives_the_others_back(
    bet: int, players: int, seat: int
) -> None:
    holders = PLAYERS[:players]
    forfeiter = holders[seat % players]

    division = payout.forfeit(bet, holders, forfeiter)

    assert division.reason is Reason.REFUND
    assert division.rake == bet
    assert division.credits == {holder: bet * (holder != forfeiter) for holder in holders}


def test_cancelled_game_gives_every_stake_back_and_takes_no_rake() -> None:
    division = payout.cancelled(100, PLAYERS)

    assert division.reason is Reason.REFUND
    assert division.rake == 0
    assert division.credits == dict.fromkeys(PLAYERS, 100)
