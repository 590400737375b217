"""The 36 cards as small integers, their order, and their two written forms.

A card is its index in the canonical deck, suit * 9 + (rank - 6); rank 6..14 (14 = ace), suit
0..3 = clubs, diamonds, hearts, spades. A set of cards (a hand) is an int with bit ``card`` set for
each card in it: membership, union and size are single operations.
"""

from typing import TypeAlias

from msgspec import Struct

from shared.errors import InvalidCard

Card: TypeAlias = int
CardSet: TypeAlias = int

RANKS = 9
SUITS = 4
DECK_SIZE = RANKS * SUITS
LOWEST_RANK = 6
NO_CARD: Card = -1  # a card that is none of the 36, or an empty place

_RANK_CHARS = "6789TJQKA"
_SUIT_CHARS = "CDHS"


class WireCard(Struct, frozen=True, gc=False):
    """A card as clients write and read it."""

    rank: int
    suit: int


RANK = tuple(LOWEST_RANK + card % RANKS for card in range(DECK_SIZE))
SUIT = tuple(card // RANKS for card in range(DECK_SIZE))
BIT = tuple(1 << card for card in range(DECK_SIZE))
SAME_RANK = tuple(
    sum(BIT[other] for other in range(DECK_SIZE) if RANK[other] == RANK[card])
    for card in range(DECK_SIZE)
)
SUIT_SET = tuple((2**RANKS - 1) << suit * RANKS for suit in range(SUITS))
WIRE = tuple(WireCard(RANK[card], SUIT[card]) for card in range(DECK_SIZE))


def from_wire(card: WireCard) -> Card:
    """Return the card, or NO_CARD if the deck has none such."""
    rank = card.rank - LOWEST_RANK
    if 0 <= rank < RANKS and 0 <= card.suit < SUITS:
        return card.suit * RANKS + rank
    return NO_CARD


def to_text(card: Card) -> str:
    """Write a card as in ``TC``: rank 6789TJQKA, suit CDHS."""
    return _RANK_CHARS[card % RANKS] + _SUIT_CHARS[card // RANKS]


def from_text(text: str) -> Card:
    """Read a card from the form of ``to_text``; NO_CARD if the deck has none such."""
    if len(text) == 2 and text[0] in _RANK_CHARS and text[1] in _SUIT_CHARS:
        return _SUIT_CHARS.index(text[1]) * RANKS + _RANK_CHARS.index(text[0])
    return NO_CARD


def cards_of(cards: CardSet) -> list[Card]:
    """List a set in canonical order."""
    listed = []
    while cards:
        lowest = cards & -cards
        listed.append(lowest.bit_length() - 1)
        cards ^= lowest
    return listed


def set_of(cards: tuple[Card, ...] | bytes) -> CardSet:
    """Collect cards into a set.

    Raises:
        InvalidCard: A card is not of the deck, or is named twice.
    """
    collected = 0
    for card in cards:
        if card < 0 or collected & BIT[card]:
            raise InvalidCard
        collected |= BIT[card]
    return collected
