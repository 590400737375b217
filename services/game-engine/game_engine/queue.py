"""What waits for the next batch: bounded, in order of arrival for each game."""

from collections import deque
from uuid import UUID

from msgspec import Struct

from game_engine.domain.judge import Command
from shared.bus import Incoming


class Pending(Struct):
    """A command that waits for its answer, or an expiry (no command).

    Attributes:
        seen_sequence: For an expiry: the sequence at which the deadline was found due.
        attempts: How often it lost the race for its game.
    """

    game_id: UUID
    command: Command | None = None
    incoming: Incoming | None = None
    seen_sequence: int = 0
    attempts: int = 0


class CommandQueue:
    """Fair between games: each has at most one command in a batch."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._size = 0
        self._waiting: dict[UUID, deque[Pending]] = {}
        self._turns: deque[UUID] = deque()

    def __len__(self) -> int:
        return self._size

    def put(self, pending: Pending) -> bool:
        """Add at the end of its game's line; False if the queue is full."""
        if self._size >= self._bound:
            return False
        self._line(pending.game_id).append(pending)
        self._size += 1
        return True

    def put_back(self, pending: Pending) -> None:
        """Return something taken before to the head of its game's line, whatever the bound."""
        self._line(pending.game_id).appendleft(pending)
        self._size += 1

    def take(self, limit: int) -> list[Pending]:
        """Remove the first of each game, for up to ``limit`` games, longest waiting first."""
        taken = []
        for _ in range(min(limit, len(self._turns))):
            game_id = self._turns.popleft()
            line = self._waiting[game_id]
            taken.append(line.popleft())
            if line:
                self._turns.append(game_id)
            else:
                del self._waiting[game_id]
        self._size -= len(taken)
        return taken

    def _line(self, game_id: UUID) -> deque[Pending]:
        line = self._waiting.get(game_id)
        if line is None:
            line = self._waiting[game_id] = deque()
            self._turns.append(game_id)
        return line
