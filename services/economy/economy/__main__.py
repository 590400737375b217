"""Run the service: ``python -m economy``."""

from economy.app import compose
from economy.settings import Settings
from shared.lifecycle import run

if __name__ == "__main__":
    run("economy", Settings(), compose)
