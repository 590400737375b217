"""Run the service: ``python -m auth``."""

from auth.app import compose
from auth.settings import Settings
from shared.lifecycle import run

if __name__ == "__main__":
    run("auth", Settings(), compose)
