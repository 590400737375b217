"""What the gateway itself says to clients, and how a frame becomes bytes of the native wire.

Frames from server to client are not masked (RFC 6455 §5.1), so the bytes of a frame are the same
for every socket: they are made once and written as they are.
"""

from collections.abc import Iterable
from uuid import UUID

from shared.contracts.realtime import frame
from shared.errors import AppError

_SHORT = [bytes((0x81, size)) for size in range(126)]  # FIN + text, and the size
_MEDIUM = b"\x81\x7e"
_LONG = b"\x81\x7f"


def on_wire(data: bytes) -> bytes:
    """Return a client frame as one WebSocket text frame."""
    return _header(len(data)) + data


def all_on_wire(frames: Iterable[bytes]) -> bytes:
    """Return client frames as WebSocket text frames, one after the other."""
    parts: list[bytes] = []
    for data in frames:
        parts.append(_header(len(data)))
        parts.append(data)
    return b"".join(parts)


def _header(size: int) -> bytes:
    if size < 126:
        return _SHORT[size]
    if size < 65536:
        return _MEDIUM + size.to_bytes(2, "big")
    return _LONG + size.to_bytes(8, "big")


def accepted(request_id: UUID, game_id: UUID, sequence: int) -> bytes:
    """ACTION_ACCEPTED of a command on a game. Written by hand: there is one for every move."""
    return (
        f'{{"type":"ACTION_ACCEPTED","version":1,"request_id":"{request_id}",'
        f'"game_id":"{game_id}","sequence":{sequence}}}'
    ).encode()


def done(request_id: UUID | None, **fields: object) -> bytes:
    """ACTION_ACCEPTED of anything else."""
    return frame("ACTION_ACCEPTED", request_id=request_id, **fields)


def rejected(
    request_id: UUID | None, game_id: UUID | None, error: AppError, sequence: int | None
) -> bytes:
    """ACTION_REJECTED: the command was understood and refused; nothing has changed.

    ``sequence`` is the current one as far as it is known; the engine's word goes first.
    """
    return frame(
        "ACTION_REJECTED",
        request_id=request_id,
        game_id=game_id,
        code=error.code,
        message=str(error),
        sequence=error.details.get("sequence", sequence),
    )


def failed(request_id: UUID | None, error: AppError) -> bytes:
    """ERROR: the message was not understood, not allowed here, or its outcome is unknown."""
    return frame("ERROR", request_id=request_id, code=error.code, message=str(error))


def notice(code: str, message: str, **fields: object) -> bytes:
    """NOTICE: something the person in front of the client should know."""
    return frame("NOTICE", code=code, message=message, **fields)
