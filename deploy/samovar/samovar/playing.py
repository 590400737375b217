"""Play a game of Durak as a client: with the bots' strategy, on the frames a player receives."""

import asyncio
import json

from bot.strategies import STRATEGIES, Move
from samovar.client import Frame, Game, PlayerClient, Refused

_REFUSALS_MAX = 10  # of one position; somebody else's move explains one

_strategy = STRATEGIES["durak"]


async def play(
    client: PlayerClient, game_id: str, *, pace_s: float = 0.0, idle_s: float = 3.0
) -> Frame:
    """Play a game to its end; return GAME_FINISHED.

    Survives lost frames, moves of others that come first, and connections that break.

    Args:
        client: The player.
        game_id: A game he plays in.
        pace_s: Pause before each move.
        idle_s: Without news for that long, ask whether some were lost.

    Raises:
        Refused: the platform refuses every move of a position.
    """
    game = client.games.setdefault(game_id, Game(game_id))
    refused_at, refusals = 0, 0  # a sequence, and how often its moves were refused
    while game.finished is None:
        seen, frames = game.sequence, client.frames
        moves = moves_of(game, client.api.player_id)
        if not moves:
            await _news(client, game_id, frames, idle_s)
            continue
        await asyncio.sleep(pace_s)
        if game.sequence != seen:
            continue
        try:
            await _make(client, game, moves[-1 if seen == refused_at else 0], idle_s)
        except Refused:
            refused_at, refusals = seen, refusals + 1 if seen == refused_at else 1
            if refusals == _REFUSALS_MAX:
                raise
            await _news(client, game_id, frames, idle_s)
    return game.finished


def moves_of(game: Game, player_id: str) -> list[Move]:
    """Return what the strategy does now; nothing while it is not this player's turn.

    A state and a hand that do not fit together (one of them is still on its way) give nothing.
    """
    seat = game.seat_of(player_id)
    if seat is None or game.state is None or game.hand is None:
        return []
    if game.state["players"][seat]["card_count"] != len(game.hand["cards"]):
        return []
    return _strategy(seat, game.state_text.encode(), game.hand_text.encode())


async def _make(client: PlayerClient, game: Game, move: Move, idle_s: float) -> None:
    accepted = await client.act(game.id, move.type, json.loads(move.payload))
    try:
        await client.until(lambda: game.sequence >= accepted.sequence, idle_s)
    except TimeoutError:
        await client.resync(game.id)


async def _news(client: PlayerClient, game_id: str, frames: int, idle_s: float) -> None:
    try:
        await client.until(lambda: client.frames > frames, idle_s)
    except TimeoutError:
        await client.resync(game_id)
