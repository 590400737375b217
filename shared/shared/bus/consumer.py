"""Consume facts from the stream: once per message, acknowledged after COMMIT.

The inbox row is written in the handler's own transaction, so a repeated delivery is recognised even
if the acknowledgement was lost. A database that is away is waited for, for ever; other failures
end in a dead letter after ``MAX_FAILURES`` deliveries.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from uuid import UUID

import msgspec
import nats.errors
import nats.js.errors
import structlog
from nats.aio.msg import Msg
from sqlalchemy import text

from shared import errors, metrics
from shared.bus.client import Bus
from shared.bus.outbox import OutboxRow, bury
from shared.contracts.base import Event, Message, decode
from shared.contracts.walls import STREAM
from shared.db import Database, Tx
from shared.ids import new_id

Q = TypeVar("Q", bound=Message | msgspec.Struct)
AfterCommit = Callable[[], Awaitable[None]]
EventHandler = Callable[[Tx, Q], Awaitable[AfterCommit | None]]

BATCH = 32
PARALLEL = 4  # below the pool's size: commands need connections too
FETCH_S = 2.0
MAX_FAILURES = 10
RETRY_S = 0.5

log = structlog.get_logger()


class Consumer:
    """The shared durable pull consumer of one service; replicas divide the messages."""

    def __init__(self, db: Database, bus: Bus, durable: str) -> None:
        self._db = db
        self._bus = bus
        self._durable = durable
        self._handlers: dict[str, tuple[Event[Any], EventHandler[Any]]] = {}
        self._gate = asyncio.Semaphore(PARALLEL)
        # Failures that are not the database's absence; a redelivery alone is none.
        self._failures: dict[UUID, int] = {}

    def on(self, event: Event[Q], handler: EventHandler[Q]) -> None:
        """Handle an event inside the transaction that also records its receipt.

        What the handler returns (pushes, as a rule) is called once the transaction is committed;
        like a push, it happens at most once.
        """
        self._handlers[event.pattern.rpartition(".")[0]] = (event, handler)

    async def run(self, stop: asyncio.Event) -> None:
        """Fetch and handle until ``stop`` is set; survives a NATS that is away or emptied."""
        subscription: Any = None
        try:
            while not stop.is_set():
                try:
                    if subscription is None:
                        subscription = await self._bus.client.jetstream().pull_subscribe_bind(
                            durable=self._durable, stream=STREAM
                        )
                    messages = await subscription.fetch(BATCH, timeout=FETCH_S)
                except (nats.errors.TimeoutError, TimeoutError):
                    continue
                except (nats.errors.Error, nats.js.errors.Error) as error:
                    log.warning("consumer waits for the stream", error=repr(error))
                    subscription = None
                    await _sleep(stop, 1.0)
                    continue
                await asyncio.gather(*(self._handle_in_turn(message) for message in messages))
        finally:
            if subscription is not None and self._bus.is_connected:
                # Its queue never counts as drained: the connection's drain would wait for it.
                await subscription.unsubscribe()

    async def _handle_in_turn(self, msg: Msg) -> None:
        async with self._gate:
            try:
                await self._handle(msg)
            except (nats.errors.Error, errors.Unavailable) as error:
                # Not acknowledged: it comes again, and the inbox knows what was done.
                log.warning("event stays unacknowledged", subject=msg.subject, error=repr(error))

    async def _handle(self, msg: Msg) -> None:
        try:
            after_commit = await self._db.run(lambda tx: self._apply(tx, msg))
        except errors.Unavailable:
            metrics.CONSUMED.labels("postponed").inc()
            await msg.nak(delay=RETRY_S)
        except Exception as error:
            await self._fail(msg, error)
        else:
            metrics.CONSUMED.labels("handled").inc()
            self._failures.pop(message_id(msg), None)
            await msg.ack()
            if after_commit is not None:
                await after_commit()

    async def _apply(self, tx: Tx, msg: Msg) -> AfterCommit | None:
        inserted = await tx.execute(
            text("insert into inbox (message_id) values (:id) on conflict do nothing"),
            {"id": message_id(msg)},
        )
        if inserted.rowcount == 0:
            return None  # handled before; only the acknowledgement was lost
        event, handler = self._handlers[msg.subject.rpartition(".")[0]]
        return await handler(tx, decode(event.payload, bytes(msg.data)))

    async def _fail(self, msg: Msg, error: Exception) -> None:
        key = message_id(msg)
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        log.exception("event handler failed", subject=msg.subject, failures=failures)
        metrics.CONSUMED.labels("failed").inc()
        if failures < MAX_FAILURES:
            await msg.nak(delay=RETRY_S * failures)
            return
        row = OutboxRow(key, "event", msg.subject, bytes(msg.data))
        await self._db.run(lambda tx: bury(tx, row, "consumer", repr(error), failures))
        metrics.DEAD_LETTERS.labels("consumer").inc()
        del self._failures[key]
        await msg.term()


def message_id(msg: Msg) -> UUID:
    """Return the outbox id of a message (a fresh one if somebody published without)."""
    value = (msg.headers or {}).get("Nats-Msg-Id")
    return UUID(value) if value else new_id()


async def _sleep(stop: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return
