"""Run the gateway: ``python -m realtime``."""

from realtime.app import compose
from realtime.settings import Settings
from shared.lifecycle import run

if __name__ == "__main__":
    run("realtime", Settings(), compose)
