"""Judging a command or an expiry against a loaded game: pure, and everything that is decided.

The order in which checks fail is that of docs/protocol.md, Errors: shape, game not found, not in
game, known request, expiry processing, forfeited, finished, stale, then the rules.
"""

from hashlib import blake2b
from uuid import UUID

import msgspec
from msgspec import Struct

from game_engine.domain.change import Cause, Change
from game_engine.domain.outages import Outages
from game_engine.domain.record import GameRecord, Preference, Status
from shared.errors import (
    AppError,
    Forbidden,
    GameFinished,
    GameNotFound,
    InvalidRequest,
    PlayerNotInGame,
    StaleState,
)

DIGEST_BYTES = 16

_encode_action = msgspec.msgpack.Encoder().encode


class Command(Struct, frozen=True):
    """What a player wants.

    Attributes:
        is_bot: It came by the bots' door.
        arrived_ms: When it reached the engine: the time it is judged by.
    """

    player_id: UUID
    request_id: UUID
    sequence: int | None
    type: str
    payload: bytes
    is_bot: bool
    arrived_ms: int


class StoredReply(Struct, frozen=True):
    """The answer that this request was given before."""

    body_hash: bytes
    sequence: int


class Verdict(Struct, frozen=True):
    """What is to be done.

    Attributes:
        change: To be committed before the answer; None if nothing changes.
        error: The refusal; None if the command is accepted.
        sequence: The answer to an accepted command.
    """

    change: Change | None = None
    error: AppError | None = None
    sequence: int = 0


def judge(
    record: GameRecord | None, stored: StoredReply | None, command: Command, outages: Outages
) -> Verdict:
    """Decide on a command. Never raises a rules error; what it raises is a bug."""
    if record is None:
        return Verdict(error=GameNotFound())
    info = record.info
    rules = info.rules
    try:
        action = rules.decode_action(command.type, command.payload)
        seat = info.seats.get(command.player_id)
        if seat is None:
            return Verdict(error=PlayerNotInGame())
        if info.bots[seat] is not command.is_bot:
            raise Forbidden
        digest = body_hash(command.type, action)
        known = stored or known_preference(record, command)
        if known is not None:
            if known.body_hash != digest:
                raise InvalidRequest("this request_id was used for another command")
            return Verdict(sequence=known.sequence)
    except AppError as error:
        return refusal(error, record.sequence)

    change = Change(record, max(command.arrived_ms, outages.last_end_ms), outages)
    change.expire()
    try:
        rules.require_playing(change.state, seat)
        if change.status is not Status.RUNNING:
            raise GameFinished
        if command.sequence is not None and not (
            change.fresh_from <= command.sequence <= change.shown_sequence
        ):
            raise StaleState
        state, events = rules.apply(change.state, seat, action, change.now_ms)
    except AppError as error:
        return refusal(error, change.shown_sequence, change if change.has_expired else None)
    change.accept(state, events, Cause(command.player_id, command.request_id, digest))
    return Verdict(change, sequence=change.sequence)


def judge_expiry(record: GameRecord | None, now_ms: int, outages: Outages) -> Change | None:
    """Decide what the clock brings about at ``now_ms``; None if nothing is due."""
    if record is None or record.status is not Status.RUNNING:
        return None
    change = Change(record, max(now_ms, outages.last_end_ms), outages)
    change.expire()
    return change if change.has_expired else None


def refusal(error: AppError, sequence: int, change: Change | None = None) -> Verdict:
    """Refuse with the sequence that the player should know of."""
    error.details["sequence"] = sequence
    return Verdict(change, error)


def body_hash(type_: str, action: Struct) -> bytes:
    """Return a digest that two requests of a game share if, and only if, they ask the same."""
    body = b"%b\x00%b" % (type_.encode(), _encode_action(action))
    return blake2b(body, digest_size=DIGEST_BYTES).digest()


def known_preference(record: GameRecord, command: Command) -> StoredReply | None:
    """Look for a request that was accepted without an event."""
    if not record.preferences:
        return None
    player, request = command.player_id.bytes, command.request_id.bytes
    for preference in record.preferences:
        if preference.request_id == request and preference.player_id == player:
            return StoredReply(preference.body_hash, preference.reply_sequence)
    return None


__all__ = ["Command", "Preference", "StoredReply", "Verdict", "judge", "judge_expiry"]
