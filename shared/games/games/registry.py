"""Which games there are: name and rules version → game. Old versions stay playable."""

from typing import Any, TypeAlias

from games.base import Game
from games.durak.game import DURAK
from shared.errors import InvalidRequest

# The host passes back to a game only what that game gave it, so it needs no types of one game.
AnyGame: TypeAlias = Game[Any, Any, Any]

GAMES: dict[tuple[str, str], AnyGame] = {(game.name, game.rules_version): game for game in (DURAK,)}

LATEST: dict[str, AnyGame] = {
    DURAK.name: DURAK,
}


def get_game(name: str, rules_version: str) -> AnyGame:
    """Return a game under one version of its rules.

    Raises:
        InvalidRequest: There is no such game or version.
    """
    game = GAMES.get((name, rules_version))
    if game is None:
        raise InvalidRequest(f"no such game: {name} {rules_version}")
    return game


def latest_game(name: str) -> AnyGame:
    """Return a game under its newest rules, for a new match. ERR_INVALID_REQUEST if unknown."""
    game = LATEST.get(name)
    if game is None:
        raise InvalidRequest(f"no such game: {name}")
    return game
