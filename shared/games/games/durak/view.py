"""What may be seen of a game: by everybody, and by one seat."""

from msgspec import Struct

from games.base import Result
from games.cards import SUIT, WIRE, WireCard, cards_of
from games.durak.state import (
    DurakState,
    Mode,
    Phase,
    SeatSet,
    active_seat,
    window_seats,
)


class PairView(Struct, frozen=True, gc=False):
    id: int
    attack: WireCard
    defense: WireCard | None


class PlayerView(Struct, frozen=True, gc=False):
    """A seat as everybody sees it; the gateway corrects ``connected``."""

    seat: int
    card_count: int
    connected: bool
    out: bool
    place: int | None
    forfeited: bool


class PublicView(Struct, frozen=True, gc=False):
    """The fields of GAME_STATE that belong to Durak (spec §16)."""

    mode: Mode
    phase: Phase
    attacker_seat: int
    defender_seat: int
    active_seat: int
    trump_suit: int
    trump_card: WireCard | None
    deck_count: int
    discard_count: int
    table: list[PairView]
    limit: int
    passed: list[int]
    taking: bool
    players: list[PlayerView]


class PrivateView(Struct, frozen=True, gc=False):
    """YOUR_HAND."""

    cards: list[WireCard]
    auto_pass: bool


def public_view(state: DurakState) -> PublicView:
    """Show the table, the counts and the roles; the trump card while it lies under the deck."""
    table = [
        PairView(attack_id, WIRE[attack], WIRE[defence] if defence >= 0 else None)
        for attack_id, attack, defence in state.table
    ]
    players = [
        PlayerView(
            seat,
            hand.bit_count(),
            True,
            is_out(state, seat),
            state.places[seat] or None,
            seat in state.forfeited,
        )
        for seat, hand in enumerate(state.hands)
    ]
    return PublicView(
        state.options.mode,
        state.phase,
        state.attacker,
        state.defender,
        active_seat(state),
        SUIT[state.trump_card],
        WIRE[state.trump_card] if state.deck else None,
        len(state.deck),
        state.discard.bit_count(),
        table,
        state.limit,
        seats_of(state.passed),
        state.taking,
        players,
    )


def private_view(state: DurakState, seat: int) -> PrivateView:
    """Show a seat its own hand, in canonical order."""
    return PrivateView(
        [WIRE[card] for card in cards_of(state.hands[seat])],
        bool(state.auto_pass >> seat & 1),
    )


def result(state: DurakState) -> Result | None:
    """Return the outcome of a finished game."""
    if state.finish_kind is None:
        return None
    return Result(
        finish_kind=state.finish_kind,
        places=tuple(place or None for place in state.places),
        forfeited=state.forfeited,
    )


def awaited_seats(state: DurakState) -> tuple[int, ...]:
    """Name who must act: the active player, or those who have not passed in the window."""
    active = active_seat(state)
    if active >= 0:
        return (active,)
    if state.phase is Phase.GAME_OVER:
        return ()
    return tuple(seats_of(window_seats(state)))


def is_out(state: DurakState, seat: int) -> bool:
    """Tell whether a seat has got rid of its cards; the last place is never got so."""
    return 0 < state.places[seat] < len(state.places) and not state.hands[seat]


def seats_of(seats: SeatSet) -> list[int]:
    """List a set of seats in ascending order."""
    return [seat for seat in range(seats.bit_length()) if seats >> seat & 1]
