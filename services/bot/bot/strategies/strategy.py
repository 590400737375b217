"""What a strategy is: from what one seat sees to what it does."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias


class Move(NamedTuple):
    """An action as the engine takes it: its type and its JSON payload."""

    type: str
    payload: bytes


# (seat, public view, private view) → moves, the best first and a safe one last; none where the seat
# has nothing to do. The views are JSON as the engine publishes them. Pure: equal views give equal
# moves, so that a repetition or another replica does the same thing.
Strategy: TypeAlias = Callable[[int, bytes, bytes], list[Move]]
