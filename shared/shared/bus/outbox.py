"""Transactional outbox: what a transaction decides to say is said, at least once.

``add`` stores a fact for the stream, ``call`` a command that is repeated until its owner answers.
The relay claims rows for a while instead of locking them, so that no transaction is open while it
talks to NATS; a relay that dies is followed by another when the claim runs out.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

import msgspec
import nats.errors
import structlog
from pydantic import ValidationError
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
LINGER_S = 0.02  # messages of one moment leave with one claim
CLAIM_S = 15
BACKOFF_MAX_S = 10.0
HOUSEKEEPING_S = 5.0
INBOX_DAYS = 14  # twice as long as the stream keeps a message

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
        self._wakeups = {"event": asyncio.Event(), "call": asyncio.Event()}
        db.on_outbox.append(self.wake)

    def wake(self) -> None:
        """Look at once instead of at the next poll."""
        for wakeup in self._wakeups.values():
            wakeup.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Deliver until ``stop`` is set. Calls whose owner is slow do not hold up facts."""
        async with asyncio.TaskGroup() as tasks:
            for part in (
                partial(self._deliver_all, "event", stop),
                partial(self._deliver_all, "call", stop),
                partial(self._keep_house, stop),
            ):
                tasks.create_task(_patiently(part, stop))

    async def _deliver_all(self, kind: str, stop: asyncio.Event) -> None:
        wakeup = self._wakeups[kind]
        while not stop.is_set():
            wakeup.clear()
            rows = await self._claim(kind)
            if rows:
                sent = await asyncio.gather(
                    *(self._deliver(row, attempts) for row, attempts in rows)
                )
                ids = [row.id for (row, _), is_sent in zip(rows, sent, strict=True) if is_sent]
                await self._db.run(lambda tx: _delete(tx, ids))  # noqa: B023  # awaited here
            if len(rows) < BATCH:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(wakeup.wait(), POLL_S)
                await asyncio.sleep(LINGER_S)

    async def _claim(self, kind: str) -> list[tuple[OutboxRow, int]]:
        async def claim(tx: Tx) -> Any:
            result = await tx.execute(
                text("""
                    update outbox set attempts = attempts + 1,
                      available_at = clock_timestamp() + make_interval(secs => :claim_s)
                    where id in (
                      select id from outbox
                      where kind = :kind and available_at <= now()
                      order by available_at limit :batch for update skip locked)
                    returning id, kind, subject, payload, attempts
                """),
                {"kind": kind, "claim_s": CLAIM_S, "batch": BATCH},
            )
            return result.all()

        found = await self._db.run(claim)
        return [(OutboxRow(r[0], r[1], r[2], bytes(r[3])), r[4]) for r in found]

    async def _keep_house(self, stop: asyncio.Event) -> None:
        """Measure what waits, and forget receipts older than the stream keeps its messages."""
        while not stop.is_set():
            oldest_s, dead = await self._db.run(_measure)
            metrics.OUTBOX_AGE.set(float(oldest_s or 0))
            metrics.DEAD_LETTERS_WAITING.set(dead)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), HOUSEKEEPING_S)

    async def _deliver(self, row: OutboxRow, attempts: int) -> bool:
        """Send one message; true if it was taken, false if it is postponed or buried."""
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
            await self._bury(row, attempts, f"{error.code}: {error}")
        except (KeyError, ValidationError, msgspec.MsgspecError) as error:
            log.exception("outbox message cannot be read", subject=row.subject)
            await self._bury(row, attempts, repr(error))
        except Exception as error:
            log.exception("outbox message failed", subject=row.subject)
            await self._postpone(row, attempts, error)
        else:
            metrics.OUTBOX_SENT.labels(name).inc()
            return True
        return False

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
        kind: Any = command.request
        request = (
            kind.model_validate_json(row.payload)
            if issubclass(kind, Message)
            else msgspec.json.decode(row.payload, type=kind)
        )
        await self._bus.call(command, request)

    async def _postpone(self, row: OutboxRow, attempts: int, error: Exception) -> None:
        delay_s = min(0.1 * 2 ** min(attempts, 10), BACKOFF_MAX_S)

        async def postpone(tx: Tx) -> None:
            await tx.execute(
                text("""
                    update outbox set last_error = :error,
                      available_at = clock_timestamp() + make_interval(secs => :delay_s)
                    where id = :id
                """),
                {"id": row.id, "delay_s": delay_s, "error": repr(error)[:500]},
            )

        await self._db.run(postpone)

    async def _bury(self, row: OutboxRow, attempts: int, error: str) -> None:
        metrics.DEAD_LETTERS.labels("outbox").inc()

        async def move(tx: Tx) -> None:
            await bury(tx, row, "outbox", error, attempts)
            await _delete(tx, [row.id])

        await self._db.run(move)


async def _patiently(part: Callable[[], Awaitable[None]], stop: asyncio.Event) -> None:
    """Run a part of the relay until it ends; again and again while the database is away."""
    while not stop.is_set():
        try:
            await part()
        except errors.Unavailable:
            log.warning("outbox waits for the database")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), POLL_S)


async def _delete(tx: Tx, ids: list[UUID]) -> None:
    await tx.execute(text("delete from outbox where id = any(:ids)"), {"ids": ids})


async def _measure(tx: Tx) -> tuple[float | None, int]:
    await tx.execute(
        text("""
            delete from inbox where message_id in (
              select message_id from inbox
              where received_at < now() - make_interval(days => :days)
              limit 1000)
        """),
        {"days": INBOX_DAYS},
    )
    result = await tx.execute(
        text("""
            select extract(epoch from clock_timestamp() - min(created_at)),
              (select count(*) from dead_letter where replayed_at is null)
            from outbox
        """)
    )
    oldest_s, dead = result.one()
    return oldest_s, dead


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
