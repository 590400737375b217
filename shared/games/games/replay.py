"""Play a stored game again from its seed: the proof that the events tell the whole truth."""

from collections.abc import Iterable

from msgspec import Struct

from games.base import A, Command, Event, Expiry, Game, O, S


class StoredEvent(Struct, frozen=True, kw_only=True):
    """An event as it was stored.

    Attributes:
        payload: The public part, JSON.
        at_ms: When it was recorded.
        extended_ms: For RECOVERY: by how much the deadline was put off.
    """

    type: str
    seat: int | None
    payload: bytes
    at_ms: int
    extended_ms: int = 0


def replay(
    game: Game[S, A, O],
    stored: Iterable[StoredEvent],
    *,
    players: int,
    options: O,
    seed: bytes,
    started_at_ms: int,
) -> tuple[S, list[Event]]:
    """Return the state and all events that follow from the seed and the causes in ``stored``.

    The events must equal the stored ones, and the state the snapshot without its preferences.
    """
    state, events = game.setup(players, options, seed, started_at_ms)
    for event in stored:
        if event.extended_ms:
            state = game.extend_deadline(state, event.extended_ms)
        cause = game.action_of(event.type, event.seat, event.payload)
        if isinstance(cause, Command):
            state, caused = game.apply(state, cause.seat, cause.action, event.at_ms)
        elif isinstance(cause, Expiry):
            state, caused = game.on_deadline(state, event.at_ms)
        else:
            continue
        events.extend(caused)
    return state, events
