"""Background work: starting full rooms, continuing what stands still, forgetting what is old."""

import asyncio
from datetime import timedelta
from uuid import UUID

import structlog

from lobby import journal
from lobby.journal import Patience
from lobby.orchestrator import Orchestrator
from shared import metrics
from shared.db import Database
from shared.errors import AppError

START_WORKERS = 8
START_QUEUE = 256
START_ATTEMPTS = 3  # then the sweeper goes on
SWEEP_WORKERS = 16  # a partner that hangs must not hold up the other rooms

PURGE_INTERVAL_S = 60.0
PURGE_BATCHES = 50  # in one tick
REQUESTS_KEPT = timedelta(days=1)

log = structlog.get_logger()


class Starter:
    """Starts rooms beside the requests that filled them. What it drops the sweeper picks up."""

    def __init__(self, orchestrator: Orchestrator) -> None:
        self._orchestrator = orchestrator
        self._queue: asyncio.Queue[UUID | None] = asyncio.Queue(START_QUEUE)

    def submit(self, room_id: UUID) -> None:
        """Start this room soon; returns at once."""
        try:
            self._queue.put_nowait(room_id)
        except asyncio.QueueFull:
            log.warning("too many rooms start at once", room_id=str(room_id))

    async def run(self, stop: asyncio.Event) -> None:
        """Work until ``stop`` is set, then finish what was submitted."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(START_WORKERS):
                workers.create_task(self._work())
            await stop.wait()
            for _ in range(START_WORKERS):
                await self._queue.put(None)

    async def _work(self) -> None:
        while (room_id := await self._queue.get()) is not None:
            try:
                await self._orchestrator.start(room_id, START_ATTEMPTS)
            except AppError as error:
                log.warning("start postponed", room_id=str(room_id), code=error.code)
            except Exception:
                metrics.JOB_FAILURES.labels("starter").inc()
                log.exception("start failed", room_id=str(room_id))


class Sweeper:
    """Continues every room that stands still, through the same steps as the normal path."""

    def __init__(self, db: Database, orchestrator: Orchestrator, patience: Patience) -> None:
        self._db = db
        self._orchestrator = orchestrator
        self._patience = patience

    async def tick(self) -> None:
        """Claim what stands still and continue it, a few rooms at a time."""
        room_ids = await self._db.run(lambda tx: journal.claim_idle(tx, self._patience))
        slots = asyncio.Semaphore(SWEEP_WORKERS)

        async def recover(room_id: UUID) -> None:
            async with slots:
                try:
                    await self._orchestrator.recover(room_id)
                except AppError as error:
                    log.warning("recovery postponed", room_id=str(room_id), code=error.code)
                except Exception:
                    metrics.JOB_FAILURES.labels("sweeper").inc()
                    log.exception("recovery failed", room_id=str(room_id))

        await asyncio.gather(*(recover(room_id) for room_id in room_ids))

    async def purge(self) -> None:
        """Forget requests that nobody repeats any more, a bounded number."""
        for _ in range(PURGE_BATCHES):
            count = await self._db.run(lambda tx: journal.purge_requests(tx, REQUESTS_KEPT))
            if count < journal.PURGE_BATCH:
                return
