"""The order of one game's pushes as they reach this gateway: at most once, in any order."""

from typing import Generic, Protocol, TypeVar


class Push(Protocol):
    """What one commit did: everything after ``from_sequence`` up to ``to_sequence``.

    They are equal where something changed without an event (a preference).
    """

    @property
    def from_sequence(self) -> int: ...

    @property
    def to_sequence(self) -> int: ...


P = TypeVar("P", bound=Push)

MAX_HELD = 64


class Order(Generic[P]):
    """What is known of a game, and the pushes that came before what they follow.

    Attributes:
        sequence: Everything up to here was handed out; None before the first view.
    """

    __slots__ = ("_held", "sequence")

    def __init__(self) -> None:
        self.sequence: int | None = None
        self._held: dict[tuple[int, int], P] = {}

    @property
    def has_gap(self) -> bool:
        """True if something is missing before what is held."""
        return bool(self._held) and self.sequence is not None

    def offer(self, push: P) -> list[P]:
        """Take a push; return those that can be handed out now, in order.

        What is older than what is known is dropped; what follows a gap is held.
        """
        if self.sequence is None or push.from_sequence > self.sequence:
            if len(self._held) < MAX_HELD:  # else the view that closes the gap covers it
                self._held[push.from_sequence, push.to_sequence] = push
            return []
        if self._is_old(push, self.sequence):
            return []
        self.sequence = push.to_sequence
        return [push, *self._release()] if self._held else [push]

    def catch_up(self, sequence: int) -> list[P]:
        """Note that everything up to ``sequence`` is known; return what is held and follows it."""
        if self.sequence is None or sequence > self.sequence:
            self.sequence = sequence
        return self._release()

    def _release(self) -> list[P]:
        """Take out of the held ones what can be handed out; forget what is old."""
        ready: list[P] = []
        for key in sorted(self._held):
            if self.sequence is None or key[0] > self.sequence:
                break
            push = self._held.pop(key)
            if not self._is_old(push, self.sequence):
                self.sequence = push.to_sequence
                ready.append(push)
        return ready

    @staticmethod
    def _is_old(push: P, known: int) -> bool:
        if push.from_sequence == push.to_sequence:
            return push.to_sequence < known
        return push.to_sequence <= known
