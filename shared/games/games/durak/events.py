"""The payloads of the events of Durak: what everybody may see, and what one seat may see.

The payload of a command's event contains the payload of the command, so replay reads it back with
the same decoder.
"""

from msgspec import Struct

from games.base import FinishKind
from games.cards import WireCard
from games.durak.state import Phase


class Dealt(Struct, frozen=True, gc=False):
    """DEAL. Private part: ``OwnCards``, each seat its hand."""

    players: int
    hand_size: int
    trump_suit: int
    trump_card: WireCard
    deck_count: int


class OwnCards(Struct, frozen=True, gc=False):
    """The private part of DEAL and DRAW."""

    cards: list[WireCard]


class CardsPlayed(Struct, frozen=True, gc=False):
    """ATTACK, THROW_IN: the cards and the ids they got on the table."""

    cards: list[WireCard]
    attack_ids: list[int]


class Beaten(Struct, frozen=True, gc=False):
    """BEAT."""

    attack_id: int
    card: WireCard


class Translated(Struct, frozen=True, gc=False):
    """TRANSLATE: the card and the id it got on the table."""

    card: WireCard
    attack_id: int


class Nothing(Struct, frozen=True, gc=False):
    """TAKE, PASS, RESIGN, FORFEIT: the type and the seat say it all."""


class Drawn(Struct, frozen=True, gc=False):
    """DRAW. Private part: ``OwnCards`` for the seat that drew."""

    count: int
    deck_count: int


class TurnChanged(Struct, frozen=True, gc=False):
    """TURN_CHANGED: the roles are others now.

    ``trick`` tells why: ``opening``, ``translated``, or how the last trick ended, ``beaten`` (its
    cards were discarded) or ``taken`` (they went to the defender's hand).
    """

    trick: str
    phase: Phase
    attacker_seat: int
    defender_seat: int
    limit: int


class TimedOut(Struct, frozen=True, gc=False):
    """TURN_TIMEOUT; the seat is None where the common window closed."""

    phase: Phase
    deadline_ms: int


class Finished(Struct, frozen=True, gc=False):
    """GAME_FINISHED; the engine adds the seed."""

    finish_kind: FinishKind
    places: list[int | None]
    forfeited: list[int]


NOTHING = Nothing()
