"""One change of a game in the making: new state, new events, new sequence."""

from typing import Any, Final
from uuid import UUID

import msgspec
from msgspec import Struct

from game_engine.domain.outages import Outages
from game_engine.domain.record import (
    GameRecord,
    Outcome,
    Place,
    Preference,
    Status,
    encode_json,
)
from games.base import Event, FinishKind, Result
from games.registry import AnyGame

UNTIMED_LIMIT_MS: Final = 30 * 60 * 1000  # for states without a deadline of their own
UNTIMED_EXPIRIES: Final = 3  # in a row, then the game is cancelled
KEPT_PREFERENCES: Final = 16


class NewEvent(Struct, frozen=True):
    """An event to be stored; the payloads are JSON.

    Attributes:
        is_cause: The command's own event: it carries the request and its answer.
    """

    sequence: int
    type: str
    seat: int | None
    payload: bytes
    private: bytes | None = None
    is_cause: bool = False


class Cause(Struct, frozen=True):
    """The accepted command behind a change."""

    player_id: UUID
    request_id: UUID
    body_hash: bytes


class Change:
    """Collects what happens to a record; ``after`` is the record that follows.

    What an outage put off is given back first, as the event RECOVERY; it alone is no reason to
    write.
    """

    __slots__ = (
        "before", "cause", "deadline_ms", "events", "expiries", "fresh_from", "has_expired",
        "now_ms", "preference", "result", "sequence", "state", "status",
    )  # fmt: skip

    def __init__(self, before: GameRecord, now_ms: int, outages: Outages) -> None:
        self.before = before
        self.now_ms = max(now_ms, before.updated_ms)
        self.state: Any = before.state
        self.status = before.status
        self.sequence = before.sequence
        self.fresh_from = before.fresh_from
        self.deadline_ms = before.deadline_ms
        self.expiries = before.expiries
        self.result = before.result
        self.events: list[NewEvent] = []
        self.has_expired = False
        self.cause: Cause | None = None
        self.preference: Preference | None = None
        self._recover(outages)

    @property
    def shown_sequence(self) -> int:
        """What players may know of: a RECOVERY that nothing followed is not stored yet."""
        return self.sequence if self.has_expired else self.before.sequence

    def _recover(self, outages: Outages) -> None:
        deadline_ms = self.deadline_ms
        if deadline_ms is None:
            return
        owed_ms = outages.owed_ms(self.before.updated_ms, deadline_ms)
        if owed_ms:
            self.state = self.before.info.rules.extend_deadline(self.state, owed_ms)
            self.deadline_ms = deadline_ms + owed_ms
            self._add("RECOVERY", None, encode_json({"extended_ms": owed_ms}))

    def expire(self) -> None:
        """Process the deadline if it has come."""
        if self.deadline_ms is None or self.now_ms < self.deadline_ms:
            return
        rules = self.before.info.rules
        state, events = rules.on_deadline(self.state, self.now_ms)
        if events:
            self.has_expired = True
            self._take_over(state, events, is_caused=False)
        elif rules.deadline_ms(self.state) is None:
            self.has_expired = True
            self._expire_untimed()

    def accept(self, state: Any, events: list[Event], cause: Cause) -> None:
        """Take over what a command brought about."""
        self.cause = cause
        self.expiries = 0
        self._take_over(state, events, is_caused=True)
        if not events:
            self.preference = Preference(
                cause.player_id.bytes, cause.request_id.bytes, cause.body_hash, self.sequence
            )

    def after(self) -> GameRecord:
        """Return the record that is true once the change is committed."""
        before = self.before
        preferences = before.preferences
        if self.preference is not None:
            preferences = (*preferences, self.preference)[-KEPT_PREFERENCES:]
        return GameRecord(
            info=before.info,
            status=self.status,
            sequence=self.sequence,
            revision=before.revision + 1,
            fresh_from=self.fresh_from,
            state=self.state,
            deadline_ms=self.deadline_ms,
            updated_ms=self.now_ms,
            expiries=self.expiries,
            preferences=preferences,
            result=self.result,
        )

    def _take_over(self, state: Any, events: list[Event], *, is_caused: bool) -> None:
        rules = self.before.info.rules
        self.state = state
        for event in events:
            private = None if event.private is None else encode_json(event.private)
            payload = encode_json(event.payload)
            self._add(event.type, event.seat, payload, private, is_caused)
            is_caused = False
            if event.is_move:
                self.fresh_from = self.sequence
        result = rules.result(state)
        if result is not None:
            self._finish(result)
        else:
            self.deadline_ms = deadline_of(rules, state, self.now_ms)

    def _expire_untimed(self) -> None:
        self.expiries += 1
        self._add("TURN_TIMEOUT", None, encode_json({"expiries": self.expiries}))
        self.deadline_ms = self.now_ms + UNTIMED_LIMIT_MS
        if self.expiries < UNTIMED_EXPIRIES:
            return
        nobody = (None,) * len(self.before.info.players)
        cancelled = Result(finish_kind=FinishKind.CANCELLED, places=nobody, forfeited=())
        self._add("GAME_FINISHED", None, encode_json(cancelled))
        self._finish(cancelled)

    def _finish(self, result: Result) -> None:
        self.status = Status.FINISHED
        self.deadline_ms = None
        self.result = Outcome(
            result.finish_kind,
            tuple(
                Place(seat, player, result.places[seat], seat in result.forfeited)
                for seat, player in enumerate(self.before.info.players)
            ),
        )

    def _add(
        self,
        type_: str,
        seat: int | None,
        payload: bytes,
        private: bytes | None = None,
        is_cause: bool = False,
    ) -> None:
        self.sequence += 1
        if type_ == "GAME_FINISHED":
            payload = with_seed(payload, self.before.info.seed)
        self.events.append(NewEvent(self.sequence, type_, seat, payload, private, is_cause))


def deadline_of(rules: AnyGame, state: Any, now_ms: int) -> int:
    """Return when a running game is to be looked at: every one has a deadline."""
    deadline_ms = rules.deadline_ms(state)
    return now_ms + UNTIMED_LIMIT_MS if deadline_ms is None else deadline_ms


def put_off(record: GameRecord, outages: Outages) -> GameRecord:
    """Return a record with the deadline that counts, outages included, as a view shows it."""
    if record.deadline_ms is None:
        return record
    owed_ms = outages.owed_ms(record.updated_ms, record.deadline_ms)
    if not owed_ms:
        return record
    return msgspec.structs.replace(
        record,
        state=record.info.rules.extend_deadline(record.state, owed_ms),
        deadline_ms=record.deadline_ms + owed_ms,
    )


def with_seed(payload: bytes, seed: bytes) -> bytes:
    """Reveal the seed in the payload of the last event of the rules."""
    return b'%b,"seed":"%b"}' % (payload[:-1], seed.hex().encode())
