"""Transactional outbox: what a transaction decides to say is said, at least once.

``add`` stores a fact for the stream, ``call`` a command that is repeated until its owner answers.
The relay claims rows for a while instead of locking them, so that no transaction is open while it
talks to NATS; a relay that dies is followed by another when the claim runs out.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

import msgspec
import nats.errors
import structlog
from sqlalchemy import text

from shared import errors, metrics
from shared.bus.client import Bus
from shared.contracts.base import Command, Event, Message, encode
from shared.contracts.registry import commands_by_subject
from shared.db import Database, Tx
from shared.ids import new_id

Q = TypeVar("Q", bound=Message | msgspec.Struct)

BATCH = 50
POLL_S = 0.5
CLAIM_S = 15
BACKOFF_MAX_S = 10.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A message to send; ``kind`` is "event" or "call"."""

    id: UUID
    kind: str
    subject: str
    payload: bytes


def event_row(event: Event[Q], payload: Q) -> OutboxRow:
    """Build the row of a fact, for writers with their own SQL."""
    return OutboxRow(new_id(), "event", event.subject(payload), encode(payload))


def call_row(command: Command[Q, Any], request: Q) -> OutboxRow:
    """Build the row of a durable call, for writers with their own SQL."""
    return OutboxRow(new_id(), "call", command.subject, encode(request))


async def add(tx: Tx, event: Event[Q], payload: Q) -> None:
    """Publish a fact if, and only if, the transaction commits."""
    await _insert(tx, event_row(event, payload))


async def call(tx: Tx, command: Command[Q, Any], request: Q) -> None:
    """Send a command, again and again until its owner answers, if the transaction commits."""
    await _insert(tx, call_row(command, request))


async def _insert(tx: Tx, row: OutboxRow) -> None:
    await tx.execute(
        text(
            "insert into outbox (id, kind, subject, payload) values (:id, :kind, :subject, :body)"
        ),
        {"id": row.id, "kind": row.kind, "subject": row.subject, "body": row.payload},
    )
    tx.info["outbox"] = True


class Relay:
    """The task that empties a service's outbox. Any number of replicas may run one."""

    def __init__(self, db: Database, bus: Bus) -> None:
        self._db = db
        self._bus = bus
        self._wakeup = asyncio.Event()
        db.on_outbox.append(self.wake)

    def wake(self) -> None:
        """Look at once instead of at the next poll."""
        self._wakeup.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Deliver until ``stop`` is set."""
        while not stop.is_set():
            self._wakeup.clear()
            rows = await self._claim()
            if rows:
                await asyncio.gather(*(self._deliver(row, attempts) for row, attempts in rows))
            if len(rows) < BATCH:
                try:
                    await asyncio.wait_for(self._wakeup.wait(), POLL_S)
                except TimeoutError:
                    continue

    async def _claim(self) -> list[tuple[OutboxRow, int]]:
        async with self._db.transaction() as tx:
            result = await tx.execute(
                text("""
                    update outbox set attempts = attempts + 1,
                      available_at = clock_timestamp() + make_interval(secs => :claim_s)
                    where id in (
                      select id from outbox where available_at <= clock_timestamp()
                      order by available_at limit :batch for update skip locked)
                    returning id, kind, subject, payload, attempts,
                      extract(epoch from clock_timestamp() - created_at)
                """),
                {"claim_s": CLAIM_S, "batch": BATCH},
            )
            found = result.all()
        metrics.OUTBOX_AGE.set(max((float(row[5]) for row in found), default=0.0))
        return [(OutboxRow(r[0], r[1], r[2], bytes(r[3])), r[4]) for r in found]

    async def _deliver(self, row: OutboxRow, attempts: int) -> None:
        name = row.subject.split(".")[3]
        try:
            if row.kind == "event":
                await self._publish(row)
            else:
                await self._call(row)
        except errors.UNKNOWN_OUTCOME as error:
            metrics.OUTBOX_RETRIES.labels(name).inc()
            await self._postpone(row, attempts, error)
        except errors.AppError as error:
            log.error("durable call refused", subject=row.subject, code=error.code)
            await self._bury(row, attempts, error)
        else:
            metrics.OUTBOX_SENT.labels(name).inc()
            await self._delete(row)

    async def _publish(self, row: OutboxRow) -> None:
        try:
            # The message id lets the stream drop repetitions within its window.
            await self._bus.client.jetstream().publish(
                row.subject, row.payload, timeout=3, headers={"Nats-Msg-Id": str(row.id)}
            )
        except (nats.errors.Error, TimeoutError) as error:
            raise errors.Unavailable("the stream does not answer") from error

    async def _call(self, row: OutboxRow) -> None:
        command = commands_by_subject()[row.subject]
        request = command.request
        decoded: Any = msgspec.json.decode(row.payload)
        if issubclass(request, Message):
            await self._bus.call(command, request.model_validate_json(row.payload))
        else:
            await self._bus.call(command, msgspec.convert(decoded, request))

    async def _postpone(self, row: OutboxRow, attempts: int, error: Exception) -> None:
        delay_s = min(0.1 * 2 ** min(attempts, 10), BACKOFF_MAX_S)
        async with self._db.transaction() as tx:
            await tx.execute(
                text("""
                    update outbox set last_error = :error,
                      available_at = clock_timestamp() + make_interval(secs => :delay_s)
                    where id = :id
                """),
                {"id": row.id, "delay_s": delay_s, "error": repr(error)[:500]},
            )

    async def _bury(self, row: OutboxRow, attempts: int, error: errors.AppError) -> None:
        metrics.DEAD_LETTERS.labels("outbox").inc()
        async with self._db.transaction() as tx:
            await bury(tx, row, "outbox", f"{error.code}: {error}", attempts)
            await tx.execute(text("delete from outbox where id = :id"), {"id": row.id})

    async def _delete(self, row: OutboxRow) -> None:
        async with self._db.transaction() as tx:
            await tx.execute(text("delete from outbox where id = :id"), {"id": row.id})


async def bury(tx: Tx, row: OutboxRow, source: str, error: str, attempts: int) -> None:
    """Store a message that is given up, for an operator to look at and replay. Idempotent."""
    await tx.execute(
        text("""
            insert into dead_letter (id, source, kind, subject, payload, error, attempts)
            values (:id, :source, :kind, :subject, :payload, :error, :attempts)
            on conflict (id) do nothing
        """),
        {
            "id": row.id, "source": source, "kind": row.kind, "subject": row.subject,
            "payload": row.payload, "error": error[:1000], "attempts": attempts,
        },
    )  # fmt: skip


# The tables of this module and of the consumer; every service's first migration runs it.
MESSAGING_DDL = """
create table outbox (
  id uuid primary key,
  kind text not null check (kind in ('event', 'call')),
  subject text not null,
  payload bytea not null,
  created_at timestamptz not null default clock_timestamp(),
  available_at timestamptz not null default clock_timestamp(),
  attempts int not null default 0,
  last_error text
);
create index outbox_available_at on outbox (available_at);
create table inbox (
  message_id uuid primary key,
  received_at timestamptz not null default clock_timestamp()
);
create index inbox_received_at on inbox (received_at);
create table dead_letter (
  id uuid primary key,
  source text not null check (source in ('outbox', 'consumer')),
  kind text not null,
  subject text not null,
  payload bytea not null,
  error text not null,
  attempts int not null,
  created_at timestamptz not null default clock_timestamp(),
  replayed_at timestamptz
);
"""


def messaging_grants(schema: str) -> str:
    """Return the grants of the messaging tables for a service's runtime role."""
    return f"""
grant select, insert, update, delete on outbox to {schema}_runtime;
grant select, insert, delete on inbox to {schema}_runtime;
grant select, insert, update on dead_letter to {schema}_runtime;
"""
