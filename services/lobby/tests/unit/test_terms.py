from dataclasses import replace

import pytest

from lobby.domain.terms import Terms, check_terms
from shared.errors import InvalidBet, InvalidRequest
from shared.money import MAX_BET

GOOD = Terms("durak", "throw_in", 2, 100, 30, is_private=False)


@pytest.mark.parametrize(
    "change",
    [
        {}, {"mode": "transfer"}, {"players_count": 4}, {"bet": None}, {"bet": 1},
        {"bet": MAX_BET}, {"turn_seconds": 10}, {"turn_seconds": 120}, {"is_private": True},
    ],
)  # fmt: skip
def test_what_is_offered_is_accepted(change: dict[str, object]) -> None:
    check_terms(replace(GOOD, **change))  # type: ignore[arg-type]  # fields by name


@pytest.mark.parametrize(
    "change",
    [
        {"game": "chess"}, {"mode": "blitz"}, {"players_count": 1}, {"players_count": 5},
        {"turn_seconds": 9}, {"turn_seconds": 121},
    ],
)  # fmt: skip
def test_unknown_games_and_wrong_numbers_are_invalid(change: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        check_terms(replace(GOOD, **change))  # type: ignore[arg-type]  # fields by name


@pytest.mark.parametrize("bet", [0, -1, MAX_BET + 1])
def test_a_bet_out_of_bounds_is_an_invalid_bet(bet: int) -> None:
    with pytest.raises(InvalidBet):
        check_terms(replace(GOOD, bet=bet))
