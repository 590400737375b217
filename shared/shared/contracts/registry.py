"""All descriptors of the platform, found by looking through the contract modules once."""

from functools import cache
from typing import Any

from shared.contracts import auth, economy, engine, lobby, realtime
from shared.contracts.base import Command, Event, Push

_MODULES = (auth, economy, engine, lobby, realtime)


def _all(kind: type[Any]) -> list[Any]:
    found: list[Any] = []
    for module in _MODULES:
        found += [
            value
            for value in vars(module).values()
            if isinstance(value, kind) and not any(value is other for other in found)
        ]
    return found


@cache
def commands_by_subject() -> dict[str, Command[Any, Any]]:
    """Return every command by its subject."""
    return {command.subject: command for command in _all(Command)}


@cache
def events() -> tuple[Event[Any], ...]:
    """Return every event."""
    return tuple(_all(Event))


@cache
def pushes() -> tuple[Push, ...]:
    """Return every push."""
    return tuple(_all(Push))
