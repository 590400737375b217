"""A new game: the deal and who opens it."""

from games.base import Event
from games.cards import (
    BIT,
    DECK_SIZE,
    RANK,
    SUIT,
    SUIT_SET,
    WIRE,
    Card,
    CardSet,
    cards_of,
    set_of,
)
from games.durak.events import Dealt
from games.durak.play import Play, own_cards
from games.durak.state import HAND_SIZE, NOBODY, DurakOptions, DurakState
from games.shuffle import shuffled_deck


def setup(
    players: int, options: DurakOptions, seed: bytes, now_ms: int
) -> tuple[DurakState, list[Event]]:
    """Deal one card at a time from seat 0 clockwise; the lowest trump opens (R-DEAL, R-OPEN)."""
    deck = shuffled_deck(seed)
    dealt = HAND_SIZE * players
    hands = tuple(set_of(deck[seat:dealt:players]) for seat in range(players))
    trump_card = deck[-1]
    play = Play(
        DurakState(
            options=options,
            hands=hands,
            deck=deck[dealt:],
            trump_card=trump_card,
            attacker=NOBODY,
            defender=NOBODY,
            places=(0,) * players,
            emptied_at=(0,) * players,
        ),
        now_ms,
    )
    play.record(
        "DEAL",
        None,
        Dealt(players, HAND_SIZE, SUIT[trump_card], WIRE[trump_card], DECK_SIZE - dealt),
        private={seat: own_cards(hand) for seat, hand in enumerate(hands)},
    )
    play.start_trick("opening", opening_seat(hands, SUIT[trump_card]), now_ms)
    return play.state, play.events


def compare_opening_cards(a: Card, b: Card) -> int:
    """Order cards for the opening: by rank, then by suit (spec §10 CompareOpeningCard)."""
    a_key, b_key = (RANK[a], SUIT[a]), (RANK[b], SUIT[b])
    return (a_key > b_key) - (a_key < b_key)


def opening_seat(hands: tuple[CardSet, ...], trump_suit: int) -> int:
    """Return who holds the lowest trump, or the lowest card where nobody holds a trump."""
    everything = sum(hands)  # disjoint sets
    candidates = cards_of(everything & SUIT_SET[trump_suit] or everything)
    lowest = min(candidates, key=lambda card: (RANK[card], SUIT[card]))
    return next(seat for seat, hand in enumerate(hands) if hand & BIT[lowest])
