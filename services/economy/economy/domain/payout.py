"""Who gets what of a pool: exact integers only (spec §13, §14; design: economy, section 3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from economy.domain.ledger import Reason
from shared.errors import InvalidRequest, assert_invariant


@dataclass(frozen=True, slots=True)
class Share:
    """A place's part of the pool."""

    numerator: int
    denominator: int


@dataclass(frozen=True, slots=True)
class Payout:
    """How a pool is divided: ``sum(credits) + rake`` is the pool.

    Attributes:
        credits: Every holder's amount, 0 included.
        reason: What the credits are: PAYOUT or REFUND.
    """

    credits: Mapping[UUID, int]
    rake: int
    reason: Reason


def by_places(pool: int, shares: Sequence[Share], places: Mapping[UUID, int | None]) -> Payout:
    """Divide a pool by places: ``floor(pool * numerator / denominator)``, the rest is rake.

    Args:
        pool: All stakes.
        shares: Parts of places 1, 2, …
        places: Holder to place.

    Raises:
        InvalidRequest: if the places are not a permutation of 1..n.
    """
    reached = [place for place in places.values() if place is not None]
    if sorted(reached) != list(range(1, len(places) + 1)):
        raise InvalidRequest("the places of a normal game are a permutation")
    assert_invariant(len(shares) == len(places), "a payout table has a share for each place")

    credits = {
        holder: pool * shares[place - 1].numerator // shares[place - 1].denominator
        for holder, place in places.items()
        if place is not None
    }
    rake = pool - sum(credits.values())
    assert_invariant(rake >= 0, "payouts do not exceed the pool")
    return Payout(credits, rake, Reason.PAYOUT)


def forfeit(bet: int, holders: Sequence[UUID], forfeiter: UUID) -> Payout:
    """Give everybody's stake back but the forfeiter's, which goes to the house (§13)."""
    credits = {holder: 0 if holder == forfeiter else bet for holder in holders}
    return Payout(credits, bet, Reason.REFUND)


def cancelled(bet: int, holders: Sequence[UUID]) -> Payout:
    """Give everybody's stake back."""
    return Payout(dict.fromkeys(holders, bet), 0, Reason.REFUND)
