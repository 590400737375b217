"""The interface of a game: data and pure functions.

The engine hosts a game, the bot searches with it; both know nothing of its rules but this page.
Nothing behind it reads a clock, draws a random number, logs or waits: time is an argument in unix
milliseconds, chance is the seed. A state is never changed: a refused command leaves its input
byte-identical, an accepted one returns another state.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

S = TypeVar("S", bound=Struct)
A = TypeVar("A", bound=Struct)
O = TypeVar("O", bound=Struct)  # noqa: E741  # S, A, O: state, action, options
A_co = TypeVar("A_co", bound=Struct, covariant=True)


class FinishKind(StrEnum):
    """How a game ended, and so how it is paid: by places, with a forfeit, or back to everybody."""

    NORMAL = "normal"
    FORFEIT = "forfeit"
    CANCELLED = "cancelled"


class Event(Struct, frozen=True, kw_only=True, gc=False):
    """One thing that happened; the engine gives each the next sequence number (spec §20).

    Attributes:
        type: A word of the spec's list, for instance ``ATTACK``.
        seat: Whose event it is; None where it is nobody's.
        payload: What everybody may see. Never a hidden card.
        private: What single seats may see besides, by seat.
        is_move: True if it makes commands with an older sequence stale: card actions and changes
            of phase. PASS does not.
    """

    type: str
    seat: int | None
    payload: Struct
    private: Mapping[int, Struct] | None = None
    is_move: bool = True


class Result(Struct, frozen=True, kw_only=True):
    """The outcome of a finished game.

    Attributes:
        finish_kind: ``normal`` pays by places, which are then a permutation of 1..n.
        places: By seat; None where no place was reached (forfeit, cancelled).
        forfeited: Seats that forfeited.
    """

    finish_kind: FinishKind
    places: tuple[int | None, ...]
    forfeited: tuple[int, ...]


class Command(Struct, Generic[A_co], frozen=True):
    """A stored event that a player caused: replay gives it to ``apply``."""

    seat: int
    action: A_co


class Expiry(Struct, frozen=True):
    """A stored event that the clock caused: replay gives it to ``on_deadline``."""


class Game(Protocol[S, A, O]):
    """A game under one version of its rules. Every game lists its functions in this order."""

    @property
    def name(self) -> str: ...

    @property
    def rules_version(self) -> str: ...

    @property
    def min_players(self) -> int: ...

    @property
    def max_players(self) -> int: ...

    # The rules.

    def setup(self, players: int, options: O, seed: bytes, now_ms: int) -> tuple[S, list[Event]]:
        """Deal a new game. The cards depend on the seed and the number of players only."""

    def legal_actions(self, state: S, seat: int) -> list[A]:
        """List the moves of play of a seat; leaving and preferences are always allowed."""

    def apply(self, state: S, seat: int, action: A, now_ms: int) -> tuple[S, list[Event]]:
        """Carry out an action, or raise the error of the first rule it breaks.

        The caller has processed expiries up to ``now_ms`` and refused stale commands before.
        A preference changes the state without an event.
        """

    def on_deadline(self, state: S, now_ms: int) -> tuple[S, list[Event]]:
        """Process everything that is due at ``now_ms`` (inclusive); nothing due, no events."""

    def public_view(self, state: S) -> Struct:
        """Show what everybody may see; the same bytes for all."""

    def private_view(self, state: S, seat: int) -> Struct:
        """Show what only this seat may see."""

    def result(self, state: S) -> Result | None:
        """Return the outcome; None while the game runs."""

    # What the host must know about a state.

    def require_playing(self, state: S, seat: int) -> None:
        """Raise ERR_PLAYER_FORFEITED or ERR_GAME_FINISHED; these come before ERR_STALE_STATE."""

    def awaited_seats(self, state: S) -> tuple[int, ...]:
        """Name the seats without whom nothing moves on before the deadline."""

    def deadline_ms(self, state: S) -> int | None:
        """Return when ``on_deadline`` is next due; None after the end."""

    def extend_deadline(self, state: S, by_ms: int) -> S:
        """Give back the time of an outage; nothing else changes, no event."""

    def without_preferences(self, state: S) -> S:
        """Return the state as its events tell it: preferences raise none, so replay has none."""

    # Bytes.

    def decode_options(self, raw: bytes) -> O:
        """Read the options of a game from JSON; empty means default. ERR_INVALID_REQUEST."""

    def encode_state(self, state: S) -> bytes:
        """Write a snapshot; equal states give equal bytes."""

    def decode_state(self, snapshot: bytes) -> S:
        """Read a snapshot that ``encode_state`` wrote."""

    def decode_action(self, type_: str, payload: bytes, card: bytes = b"") -> A:
        """Read a client's action from JSON; empty bytes mean absent.

        ``card`` is the top-level field of that name, where the spec prints TRANSLATE's card.
        An unknown type or a wrong shape is ERR_INVALID_REQUEST. An action that this game knows
        but the options of a match exclude is ``apply``'s to refuse, with ERR_INVALID_ACTION.
        """

    def encode_action(self, action: A) -> tuple[str, bytes]:
        """Write an action as its type and JSON payload: the inverse of ``decode_action``."""

    def action_of(self, type_: str, seat: int | None, payload: bytes) -> Command[A] | Expiry | None:
        """Tell what caused a stored event; None if another event brought it about."""

    def action_schema(self) -> dict[str, object]:
        """Return the JSON Schema of each action's payload, by type."""
