"""Messages between clients and the gateway, and the pushes that carry client frames.

A client frame is a JSON object with ``type`` and ``version``; services build the frames that they
own with ``frame``, the gateway only copies them to sockets.
"""

from typing import Any
from uuid import UUID

import msgspec

from shared.contracts.base import Push

PROTOCOL_VERSION = 1


class ClientFrame(msgspec.Struct, frozen=True):
    """The envelope of a client's message (spec §15). Unknown fields are ignored.

    ``card`` at the top level is where the spec prints TRANSLATE's card. Absent raw fields are
    empty (msgspec cannot decode ``Raw | None``).
    """

    type: str
    version: int = 0
    request_id: UUID | None = None
    game_id: UUID | None = None
    sequence: int | None = None
    payload: msgspec.Raw = msgspec.Raw()
    card: msgspec.Raw = msgspec.Raw()


def frame(type_: str, /, **fields: Any) -> bytes:
    """Build a client frame; values are anything msgspec can encode (UUID, Raw, Struct, …)."""
    return msgspec.json.encode({"type": type_, "version": PROTOCOL_VERSION, **fields})


class PresenceChanged(msgspec.Struct, frozen=True):
    """A player of a game connected or disconnected; on ``push.v1.presence.<game id>``."""

    player_id: UUID
    is_connected: bool


# One client frame (JSON bytes), delivered to every socket of the player; key: player id.
USER_PUSH = Push("user", ("lobby", "economy", "game_engine", "realtime"))
PRESENCE_PUSH = Push("presence", ("realtime",))  # PresenceChanged; key: game id
