"""Run the service: ``python -m bot``."""

from bot.app import compose
from bot.settings import Settings
from shared.lifecycle import run

if __name__ == "__main__":
    run("bot", Settings(), compose)
