"""Games in memory between moves. Never trusted: every use compares the revision first."""

from uuid import UUID

from game_engine.domain.record import GameRecord


class GameCache:
    """The last known version of each running game, up to a bound."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._records: dict[UUID, GameRecord] = {}

    def get(self, game_id: UUID) -> GameRecord | None:
        return self._records.get(game_id)

    def put(self, record: GameRecord) -> None:
        """Keep a version; a finished game is forgotten, it has few questions to answer."""
        game_id = record.info.game_id
        if record.result is not None:
            self._records.pop(game_id, None)
            return
        if len(self._records) >= self._bound and game_id not in self._records:
            del self._records[next(iter(self._records))]  # the one that was put first
        self._records[game_id] = record
