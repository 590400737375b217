"""How bots play: the strategy of each game that has bots."""

from bot.strategies import durak
from bot.strategies.strategy import Move, Strategy

STRATEGIES: dict[str, Strategy] = {"durak": durak.moves}

__all__ = ["STRATEGIES", "Move", "Strategy"]
