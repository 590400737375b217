"""A PostgreSQL connection outside of the pool: prepared statements, and it comes back for ever."""

import asyncio
from typing import Any, Final

import asyncpg
import structlog

from shared import metrics
from shared.db import server_settings

RECONNECT_MIN_S: Final = 0.05
RECONNECT_MAX_S: Final = 1.0
STATEMENT_TIMEOUT_S: Final = 8.0
# Generic plans: planning a batch anew each time costs more than running it. They must never read
# a whole table, whatever its statistics say.
_SETTINGS: Final = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "synchronous_commit": "on",
}
_LOST_STATES: Final = ("08", "57P0")  # connection exception; the server is shutting down
_AGAIN_STATES: Final = {
    "40001": "serialization",
    "40P01": "deadlock",
    "53": "resources",
    "55P03": "lock timeout",
    "57014": "statement timeout",
}

_ERRORS: Final = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError)

log = structlog.get_logger()


class ConnectionLostError(Exception):
    """The connection is gone; what it was doing may have been committed or not."""


class TryAgainError(Exception):
    """Nothing was done; the same statement may succeed."""


class Connection:
    """One connection that comes back, with its statements prepared."""

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._name = name
        self._inner: asyncpg.Connection[Any] | None = None
        self._statements: dict[str, Any] = {}

    @property
    def backend_pid(self) -> int | None:
        """The server process behind the connection."""
        return None if self._inner is None else self._inner.get_server_pid()

    @property
    def is_open(self) -> bool:
        return self._inner is not None

    async def open(self) -> None:
        """Connect if there is no connection; try for ever."""
        delay_s = RECONNECT_MIN_S
        while self._inner is None:
            try:
                self._inner = await asyncpg.connect(
                    self._url,
                    timeout=5,
                    server_settings={**server_settings(self._name), **_SETTINGS},
                )
            except _ERRORS as error:
                log.warning("waiting for PostgreSQL", error=repr(error))
                await asyncio.sleep(delay_s)
                delay_s = min(delay_s * 2, RECONNECT_MAX_S)

    async def close(self) -> None:
        if self._inner is not None:
            self._inner.terminate()
            self._inner = None

    async def fetch(self, sql: str, *arguments: object) -> list[Any]:
        """Run a prepared statement in a transaction of its own.

        Raises:
            ConnectionLostError: the outcome is unknown; the next ``open`` connects anew.
            TryAgainError: deadlock, serialisation failure, lock or statement timeout.
            asyncpg.PostgresError, asyncpg.InterfaceError: the statement itself is at fault.
        """
        inner = self._inner
        if inner is None:
            raise ConnectionLostError
        try:
            statement = self._statements.get(sql)
            if statement is None:
                statement = self._statements[sql] = await inner.prepare(
                    sql, timeout=STATEMENT_TIMEOUT_S
                )
            return await statement.fetch(*arguments, timeout=STATEMENT_TIMEOUT_S)
        except (*_ERRORS, asyncpg.InternalClientError) as error:
            state = getattr(error, "sqlstate", None) or ""
            passing = [cause for start, cause in _AGAIN_STATES.items() if state.startswith(start)]
            if passing:
                metrics.DB_RETRIES.labels(passing[0]).inc()
                raise TryAgainError from error
            if (
                # The client's own error: the server has just said that it is ending us.
                isinstance(error, OSError | TimeoutError | asyncpg.InternalClientError)
                or state.startswith(_LOST_STATES)
                or inner.is_closed()
            ):
                metrics.DB_RETRIES.labels("connection").inc()
                inner.terminate()
                self._inner = None
                self._statements.clear()
                raise ConnectionLostError from error
            raise
