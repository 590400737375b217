"""Tasks that belong to nobody in particular: kept, bounded, their failures logged."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import structlog

from shared import errors, metrics

log = structlog.get_logger()


class Background:
    """Runs short coroutines on behalf of callbacks that cannot wait."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, object]) -> None:
        """Start a coroutine; whoever calls sees to it that there are not too many."""
        task = asyncio.create_task(self._guard(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Cancel what still runs."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _guard(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except errors.AppError as error:
            log.warning(
                "background work gave up", work=getattr(work, "__qualname__", ""), code=error.code
            )
        except Exception:
            metrics.JOB_FAILURES.labels(self._name).inc()
            log.exception("background work failed", work=getattr(work, "__qualname__", ""))
