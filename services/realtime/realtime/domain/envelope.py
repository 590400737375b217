"""The envelope of a client's message: parse and check (spec §15)."""

from uuid import UUID

import msgspec

from shared.contracts.realtime import PROTOCOL_VERSION, ClientFrame
from shared.errors import AppError, InvalidRequest, ProtocolVersion

MAX_BYTES = 16 * 1024

# Go to the engine as they are; which game knows which action is the engine's matter.
GAME_ACTIONS = frozenset({
    "ATTACK", "BEAT", "TAKE", "TRANSLATE", "THROW_IN", "PASS", "SET_AUTO_PASS", "RESIGN",
})  # fmt: skip
ABOUT_A_GAME = frozenset({"WATCH_GAME", "UNWATCH_GAME", "GET_GAME_STATE"})
OF_THE_SESSION = frozenset({"AUTH", "PING", "WATCH_LOBBY", "UNWATCH_LOBBY"})
KNOWN = GAME_ACTIONS | ABOUT_A_GAME | OF_THE_SESSION
# A client may send these without expecting a reply of its own.
WITHOUT_REQUEST_ID = frozenset({"AUTH", "PING"})

EMPTY_OBJECT = b"{}"
# Objects and lists in an action; so nobody behind us need fear its depth.
MAX_BRACKETS = 200
_ABSENT = (b"", b"null")
_decode = msgspec.json.Decoder(ClientFrame).decode


class BadFrame(Exception):
    """A message that cannot be carried out; ``request_id`` if at least that could be read."""

    def __init__(self, error: AppError, request_id: UUID | None) -> None:
        super().__init__(error.code)
        self.error = error
        self.request_id = request_id


class _OnlyId(msgspec.Struct):
    request_id: UUID | None = None


def parse(data: bytes, game_id: UUID | None = None, max_bytes: int = MAX_BYTES) -> ClientFrame:
    """Read a message and check everything that needs no knowledge of who sent it.

    Args:
        data: UTF-8 JSON.
        game_id: Replaces the message's own one (REST names the game in the path).
        max_bytes: Longer messages are refused unread.

    Raises:
        BadFrame: with ERR_INVALID_REQUEST, or ERR_PROTOCOL_VERSION if only that is wrong.
    """
    if len(data) > max_bytes:
        raise BadFrame(InvalidRequest("The message is too large."), None)
    try:
        frame = _decode(data)
    # A deep nesting ends in RecursionError: a wrong shape like any other.
    except (msgspec.DecodeError, RecursionError):
        raise BadFrame(InvalidRequest(), _request_id(data)) from None
    if game_id is not None:
        frame = msgspec.structs.replace(frame, game_id=game_id)
    _check(frame)
    return frame


def payload_of(frame: ClientFrame) -> bytes:
    """Return the payload as a JSON object; TRANSLATE's card may stand beside it (spec §15)."""
    payload = bytes(frame.payload)
    if payload in _ABSENT:
        payload = EMPTY_OBJECT
    if frame.type == "TRANSLATE" and payload == EMPTY_OBJECT:
        card = bytes(frame.card)
        if card not in _ABSENT:
            return b'{"card":%b}' % card
    return payload


def _check(frame: ClientFrame) -> None:
    kind = frame.type
    if kind not in KNOWN:
        raise BadFrame(InvalidRequest("This type of message is not known."), frame.request_id)
    if frame.request_id is None and kind not in WITHOUT_REQUEST_ID:
        raise BadFrame(InvalidRequest("request_id is missing."), None)
    if frame.game_id is None and kind not in OF_THE_SESSION:
        raise BadFrame(InvalidRequest("game_id is missing."), frame.request_id)
    payload = bytes(frame.payload)
    if payload not in _ABSENT and payload[:1] != b"{":
        raise BadFrame(InvalidRequest("payload is not an object."), frame.request_id)
    if kind == "TRANSLATE":
        payload = payload_of(frame)  # its card counts as well
    if kind in GAME_ACTIONS and payload.count(b"{") + payload.count(b"[") > MAX_BRACKETS:
        raise BadFrame(InvalidRequest("payload is too complex."), frame.request_id)
    if frame.version != PROTOCOL_VERSION:
        raise BadFrame(ProtocolVersion(), frame.request_id)


def _request_id(data: bytes) -> UUID | None:
    try:
        return msgspec.json.decode(data, type=_OnlyId).request_id
    except (msgspec.DecodeError, RecursionError):
        return None
