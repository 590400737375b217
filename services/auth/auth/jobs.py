"""Repeats the news of ended sessions, and removes what nobody needs any more."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from auth import session_store, store
from auth.accounts import announce
from auth.parts import Parts
from shared.db import Tx

FLUSH_TIMEOUT_S = 5
PURGE_BATCHES = 20  # of each table in one tick, so that a backlog does not hold up the news

Purge = Callable[[Tx, datetime], Awaitable[int]]


class Sweeper:
    """One tick does both; any number of replicas may run it."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def tick(self) -> None:
        """Do what is due."""
        await self.announce_revoked()
        await self.purge()

    async def announce_revoked(self) -> None:
        """Push every revoked session once more.

        The first push is sent right after the commit; this one makes up for a process that died in
        between, and for a push that got lost.
        """
        parts = self._parts
        if not parts.bus.is_connected:
            return
        session_ids = await parts.db.run(session_store.list_unannounced)
        if not session_ids:
            return
        for session_id in session_ids:
            await announce(parts.bus, session_id)
        await parts.bus.client.flush(FLUSH_TIMEOUT_S)
        now = parts.now()
        await parts.db.run(lambda tx: session_store.mark_announced(tx, session_ids, now))

    async def purge(self) -> None:
        """Delete expired tokens, old idempotency keys and dead sessions, a bounded number."""
        now = self._parts.now()
        await self._purge(store.purge_refresh_tokens, now - self._parts.retention)
        await self._purge(store.purge_keys, now - self._parts.idempotency_ttl)
        await self._purge(store.purge_sessions, now - self._parts.retention)

    async def _purge(self, purge: Purge, before: datetime) -> None:
        for _ in range(PURGE_BATCHES):
            if await self._parts.db.run(lambda tx: purge(tx, before)) < store.PURGE_BATCH:
                return
