"""GAME_STATE as the gateway corrects it: the engine does not know who is connected."""

import msgspec

_MARK = b'"type":"GAME_STATE"'
_MARK_WITHIN = 64  # frames begin with their type


def is_state(frame: bytes) -> bool:
    """Tell whether a client frame is a GAME_STATE, without parsing it."""
    return _MARK in frame[:_MARK_WITHIN]


def with_absent(frame: bytes, seats: set[int]) -> bytes:
    """Return a GAME_STATE in which the players on these seats are not connected."""
    state = msgspec.json.decode(frame)
    for player in state.get("players", ()):
        if player.get("seat") in seats:
            player["connected"] = False
    return msgspec.json.encode(state)
