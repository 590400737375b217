"""Run the game engine: ``python -m game_engine``."""

from game_engine.app import compose
from game_engine.settings import EngineSettings
from shared.lifecycle import run

run("game_engine", EngineSettings(), compose)
