"""Serve commands from tests, without the guards of ``Bus.serve``."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from shared.bus import Bus, Incoming
from shared.contracts.base import Command


async def serve_in_tasks(
    bus: Bus, command: Command[Any, Any], accept: Callable[[Incoming], Awaitable[None]]
) -> None:
    """Call ``accept`` in a task of its own for every request; it answers, or does not."""
    tasks: set[asyncio.Future[None]] = set()

    def start(incoming: Incoming) -> None:
        task = asyncio.ensure_future(accept(incoming))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    await bus.serve_deferred(command, start)
