"""The six services: what starts them, what they need, which ports they have."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Service:
    """One service as the command line sees it.

    Attributes:
        name: Python package, NATS user and key of the port table.
        directory: Folder below ``services/``.
        schema: PostgreSQL schema, or None if it keeps nothing.
        ports: Roles of its ports besides ``health`` to the setting that carries each.
    """

    name: str
    directory: str
    schema: str | None
    ports: Mapping[str, str]


# In the order of starting: who is called by others comes first.
SERVICES: Final[Mapping[str, Service]] = {
    service.name: service
    for service in (
        Service("auth", "auth", "auth", {"http": "HTTP_PORT"}),
        Service("economy", "economy", "economy", {}),
        Service("lobby", "lobby", "lobby", {}),
        Service("game_engine", "game-engine", "engine", {}),
        Service("bot", "bot", None, {}),
        Service("realtime", "realtime", "realtime", {"http": "HTTP_PORT", "ws": "WS_PORT"}),
    )
}
