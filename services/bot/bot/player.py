"""A bot's turn: the view of a seat in, an action out."""

import asyncio
import time
from uuid import UUID, uuid5

import msgspec
import structlog
from prometheus_client import Counter

from bot.strategies import STRATEGIES, Move
from shared import errors
from shared.bus import Bus
from shared.contracts.engine import BOT_ACT, ActRequest, BotTurn

REPEAT_FOR_S = 20.0  # after that the turn is left to the next poll
REPEAT_MIN_S = 0.1
REPEAT_MAX_S = 2.0

# The game went on without this turn: somebody else's move, another replica, or the clock.
_OVERTAKEN = (
    errors.StaleState,
    errors.InvalidPhase,
    errors.NotYourTurn,
    errors.GameFinished,
    errors.PlayerForfeited,
    errors.GameNotFound,
)

TURNS = Counter("samovar_bot_turns_total", "Turns of bots by how they ended.", ["outcome"])

log = structlog.get_logger()


def request_id_of(turn: BotTurn) -> UUID:
    """Name the one action of a turn: whoever plays the same turn again sends the same id."""
    return uuid5(turn.game_id, f"{turn.sequence}:{turn.seat}")


class Player:
    """Plays turns for every bot there is."""

    def __init__(self, bus: Bus, *, act_timeout_s: float) -> None:
        self._bus = bus
        self._act_timeout_s = act_timeout_s

    async def play(self, turn: BotTurn) -> None:
        """Act for a seat, once however often the turn is played (``request_id_of``)."""
        strategy = STRATEGIES.get(turn.game)
        if strategy is None:
            log.warning("no strategy for this game", game=turn.game)
            return
        for move in strategy(turn.seat, bytes(turn.public), bytes(turn.private)):
            if await self._is_settled(turn, move):
                return

    async def _is_settled(self, turn: BotTurn, move: Move) -> bool:
        """Send a move; False if the rules refuse it and another one is to be tried."""
        request = ActRequest(
            game_id=turn.game_id,
            player_id=turn.player_id,
            request_id=request_id_of(turn),
            sequence=turn.sequence,
            type=move.type,
            payload=msgspec.Raw(move.payload),
        )
        ids = {"game_id": str(turn.game_id), "player_id": str(turn.player_id)}
        try:
            await self._act(request)
        except _OVERTAKEN:
            TURNS.labels("overtaken").inc()
        except errors.UNKNOWN_OUTCOME as error:
            log.warning("turn left to the next poll", code=error.code, **ids)
            TURNS.labels("unknown").inc()
        except errors.AppError as error:
            log.warning("move refused", code=error.code, type=move.type, **ids)
            TURNS.labels("refused").inc()
            return False
        else:
            TURNS.labels("accepted").inc()
        return True

    async def _act(self, request: ActRequest) -> None:
        """Send the same request until its outcome is known.

        Raises:
            AppError: the engine's refusal; one of UNKNOWN_OUTCOME if none came in time.
        """
        give_up_at = time.monotonic() + REPEAT_FOR_S
        pause_s = REPEAT_MIN_S
        while True:
            try:
                await self._bus.call(BOT_ACT, request, timeout_s=self._act_timeout_s)
            except errors.UNKNOWN_OUTCOME:
                if time.monotonic() > give_up_at:
                    raise
            else:
                return
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, REPEAT_MAX_S)
