"""Proof that the events tell the whole truth: seed and causes give the snapshot again."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from game_engine.domain.change import with_seed
from game_engine.domain.record import GameRecord, encode_json
from games.base import Event
from games.replay import StoredEvent, replay

# Events that the engine writes; the rules know nothing of them.
ENGINE_EVENTS = frozenset({
    "GAME_CREATED", "PLAYER_JOINED", "GAME_STARTED", "RECOVERY", "SETTLEMENT_STARTED", "PAYOUT",
    "REFUND", "RAKE", "SETTLEMENT_FINISHED",
})  # fmt: skip


class StoredRow(Struct, frozen=True):
    """An event as it is stored."""

    sequence: int
    type: str
    seat: int | None
    payload: bytes
    private: bytes | None
    at_ms: int


class _Recovery(Struct):
    extended_ms: int = 0


def differences(record: GameRecord, options: bytes, rows: Sequence[StoredRow]) -> list[str]:
    """Play a stored game again and name what differs; empty means it is proven.

    Preferences are no events, so the snapshot is compared without them.
    """
    info = record.info
    rules = info.rules
    if [row.sequence for row in rows] != list(range(1, record.sequence + 1)):
        return ["sequences have gaps"]
    started_ms = next(row.at_ms for row in rows if row.type == "GAME_STARTED")
    state, events = replay(
        rules,
        [_stored_event(row) for row in rows],
        players=len(info.players),
        options=rules.decode_options(options),
        seed=info.seed,
        started_at_ms=started_ms,
    )
    found = []
    stored = [
        (row.type, row.seat, row.payload, row.private)
        for row in rows
        if row.type not in ENGINE_EVENTS
    ]
    replayed = [_written(event, info.seed) for event in events]
    if stored != replayed:
        found.append("events differ")
    snapshot = rules.encode_state(rules.without_preferences(record.state))
    if snapshot != rules.encode_state(rules.without_preferences(state)):
        found.append("the snapshot differs")
    return found


def _stored_event(row: StoredRow) -> StoredEvent:
    extended_ms = 0
    if row.type == "RECOVERY":
        extended_ms = msgspec.json.decode(row.payload, type=_Recovery).extended_ms
    return StoredEvent(
        type=row.type, seat=row.seat, payload=row.payload, at_ms=row.at_ms, extended_ms=extended_ms
    )


def _written(event: Event, seed: bytes) -> tuple[Any, ...]:
    payload = encode_json(event.payload)
    if event.type == "GAME_FINISHED":
        payload = with_seed(payload, seed)
    private = None if event.private is None else encode_json(event.private)
    return event.type, event.seat, payload, private
