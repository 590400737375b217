"""``python -m lobby``."""

from lobby.app import compose
from lobby.settings import Settings
from shared.lifecycle import run

if __name__ == "__main__":
    run("lobby", Settings(), compose)
