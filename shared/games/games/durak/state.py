"""What a game of Durak is made of: its options, its state, and the questions asked of a state."""

from enum import StrEnum
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from games.base import FinishKind
from games.cards import BIT, SAME_RANK, Card, CardSet

HAND_SIZE = 6
NOBODY = -1

SeatSet: TypeAlias = int  # bit ``seat`` set for each seat in it
Pair: TypeAlias = tuple[int, Card, Card]  # attack id, attack card, defence card or NO_CARD


class Mode(StrEnum):
    THROW_IN = "throw_in"
    TRANSFER = "transfer"


class ForfeitPolicy(StrEnum):
    """What a forfeit means for the others: their stakes back, or the places as they stand."""

    REFUND = "refund"
    AWARD = "award"


class Phase(StrEnum):
    """The phases a game rests in; deal, resolve and draw happen within one command."""

    ATTACK = "ATTACK"
    DEFEND = "DEFEND"
    THROW_IN = "THROW_IN"
    GAME_OVER = "GAME_OVER"


class DurakOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules of one match, fixed when it is made (docs/rules/durak.md, Options)."""

    mode: Mode = Mode.THROW_IN
    turn_seconds: Annotated[int, Meta(ge=1, le=3600)] = 30
    table_limit: Annotated[int, Meta(ge=1, le=6)] = 6
    first_beat_limit: Annotated[int, Meta(ge=1, le=6)] | None = None
    throw_in_after_take: bool = False
    auto_close_on_hands: bool = False
    forfeit_policy: ForfeitPolicy = ForfeitPolicy.REFUND
    no_progress_cap: Annotated[int, Meta(ge=1, le=1000)] = 60


class DurakState(Struct, array_like=True, kw_only=True, gc=False):
    """All there is to know of a game. Only a fresh copy is ever changed (see ``Play``).

    Attributes:
        hands: By seat.
        deck: Top first; the last card is the face-up trump.
        table: Attack cards in the order they came, beaten or not.
        limit: How many attack cards this trick may hold; fixed when it starts, and on TRANSLATE.
        passed: Who has passed since the last card, in the open window.
        taking: The defender has said TAKE and the others may still add cards.
        no_progress: Tricks in a row without a discard and without a draw.
        places: By seat; 0 = none yet. While the game runs, a seat with a place is out of it.
        emptied_at: By seat, the ``event_count`` at which the hand last became empty.
        event_count: Events the rules have given out so far.
        auto_pass: Who lets the server pass for him.
    """

    options: DurakOptions
    hands: tuple[CardSet, ...]
    deck: bytes
    trump_card: Card
    discard: CardSet = 0
    table: tuple[Pair, ...] = ()
    next_attack_id: int = 1
    attacker: int
    defender: int
    phase: Phase = Phase.ATTACK
    limit: int = 0
    passed: SeatSet = 0
    taking: bool = False
    first_beat_done: bool = False
    no_progress: int = 0
    places: tuple[int, ...]
    emptied_at: tuple[int, ...]
    forfeited: tuple[int, ...] = ()
    finish_kind: FinishKind | None = None
    deadline_ms: int | None = None
    event_count: int = 0
    auto_pass: SeatSet = 0


def is_living(state: DurakState, seat: int) -> bool:
    """Tell whether a seat still plays, in a game that runs."""
    return state.places[seat] == 0


def next_living(state: DurakState, seat: int) -> int:
    """Return the first seat clockwise after ``seat`` that still plays."""
    players = len(state.hands)
    following = (seat + 1) % players
    while state.places[following]:
        following = (following + 1) % players
    return following


def active_seat(state: DurakState) -> int:
    """Return the one seat that must act; NOBODY in the common window and after the end."""
    if state.phase is Phase.ATTACK:
        return state.attacker
    if state.phase is Phase.DEFEND:
        return state.defender
    return NOBODY


def attack_limit(state: DurakState, defender: int) -> int:
    """Return how many attack cards a trick against this defender may hold, as of now."""
    options = state.options
    limit = options.table_limit
    if options.first_beat_limit is not None and not state.first_beat_done:
        limit = min(limit, options.first_beat_limit)
    return min(limit, state.hands[defender].bit_count())


def table_cards(state: DurakState) -> CardSet:
    """Collect every card on the table, attack and defence."""
    cards = 0
    for _, attack, defence in state.table:
        cards |= BIT[attack]
        if defence >= 0:
            cards |= BIT[defence]
    return cards


def open_ranks(state: DurakState) -> CardSet:
    """Collect the cards of every rank on the table: what may be thrown in."""
    cards = 0
    for _, attack, defence in state.table:
        cards |= SAME_RANK[attack]
        if defence >= 0:
            cards |= SAME_RANK[defence]
    return cards


def window_seats(state: DurakState) -> SeatSet:
    """Collect the seats that the open throw-in window waits for.

    An empty hand is a public fact; what ranks a hand holds is not, so by default nobody is left
    out for lack of a matching card.
    """
    matching = open_ranks(state) if state.options.auto_close_on_hands else -1
    waiting = 0
    for seat, hand in enumerate(state.hands):
        if seat != state.defender and hand & matching and not state.passed >> seat & 1:
            waiting |= 1 << seat
    return waiting
