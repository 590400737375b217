"""GAME_STATE as the gateway corrects it: the engine does not know who is connected."""

from collections.abc import Collection

import msgspec

_MARK = b'"type":"GAME_STATE"'
_MARK_WITHIN = 64  # frames begin with their type


def is_state(frame: bytes) -> bool:
    """Tell whether a client frame is a GAME_STATE, without parsing it."""
    return _MARK in frame[:_MARK_WITHIN]


def corrected(frame: bytes, absent: Collection[int], now_ms: int | None = None) -> bytes:
    """Return a GAME_STATE in which the players on the seats ``absent`` are not connected.

    One that is sent again needs the time of now, ``now_ms``.
    """
    state = msgspec.json.decode(frame)
    for player in state.get("players", ()):
        if player.get("seat") in absent:
            player["connected"] = False
    if now_ms is not None:
        state["server_now_ms"] = now_ms
    return msgspec.json.encode(state)
