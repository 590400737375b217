"""What other services are told of a finished game. Money is not the engine's: it names places."""

from game_engine.domain.record import GameRecord, Outcome
from shared.bus.outbox import OutboxRow, call_row, event_row
from shared.clock import from_ms
from shared.contracts.economy import SETTLE, FinishKind, Settle, Standing
from shared.contracts.engine import GAME_FINISHED, GameResult


def standings_of(result: Outcome | None) -> tuple[Standing, ...]:
    """Return who ended how; empty while the game runs."""
    if result is None:
        return ()
    return tuple(
        Standing(player_id=place.player_id, place=place.place, forfeited=place.forfeited)
        for place in result.standings
    )


def finish_messages(record: GameRecord) -> list[OutboxRow]:
    """Return what leaves with the commit of the last event: the fact, and the call to settle."""
    result, info = record.result, record.info
    if result is None:
        return []
    standings = standings_of(result)
    finish_kind = FinishKind(result.finish_kind.value)
    fact = GameResult(
        game_id=info.game_id,
        room_id=info.room_id,
        game=info.rules.name,
        finish_kind=finish_kind,
        standings=standings,
        has_stake=info.has_stake,
        finished_at=from_ms(record.updated_ms),
    )
    messages = [event_row(GAME_FINISHED, fact)]
    if info.has_stake:
        settle = Settle(
            game_id=info.game_id,
            room_id=info.room_id,
            finish_kind=finish_kind,
            standings=standings,
        )
        messages.append(call_row(SETTLE, settle))
    return messages
