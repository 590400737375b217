"""What a room is opened for: the terms that never change, and which of them are allowed."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from shared.errors import InvalidBet, InvalidRequest
from shared.money import MAX_BET, MIN_BET

TURN_SECONDS_MIN = 10
TURN_SECONDS_MAX = 120


@dataclass(frozen=True, slots=True)
class Offer:
    """How one game may be played."""

    modes: frozenset[str]
    players_counts: range
    allows_bets: bool


OFFERS: Mapping[str, Offer] = MappingProxyType(
    {"durak": Offer(frozenset({"throw_in", "transfer"}), range(2, 5), allows_bets=True)}
)


@dataclass(frozen=True, slots=True)
class Terms:
    """``bet`` is each player's stake in the smallest unit, None for a friendly game."""

    game: str
    mode: str
    players_count: int
    bet: int | None
    turn_seconds: int
    is_private: bool


def check_terms(terms: Terms) -> None:
    """Refuse terms that no room may have.

    Raises:
        InvalidRequest: unknown game or mode, wrong number of players or turn time.
        InvalidBet: a bet out of bounds, or on a game that is not played for money.
    """
    offer = OFFERS.get(terms.game)
    if offer is None:
        raise InvalidRequest("there is no such game")
    if terms.mode not in offer.modes:
        raise InvalidRequest("the game has no such mode")
    if terms.players_count not in offer.players_counts:
        raise InvalidRequest("the game is not played by so many")
    if not TURN_SECONDS_MIN <= terms.turn_seconds <= TURN_SECONDS_MAX:
        raise InvalidRequest(f"turn_seconds is {TURN_SECONDS_MIN} to {TURN_SECONDS_MAX}")
    if terms.bet is not None and not (offer.allows_bets and MIN_BET <= terms.bet <= MAX_BET):
        raise InvalidBet
