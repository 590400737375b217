"""PostgreSQL through SQLAlchemy Core and asyncpg: transactions, retries, readiness.

``run`` repeats a transaction after a deadlock, a serialisation failure or a lost connection. That
is safe because every use case is idempotent by ids that the caller made, also when the connection
was lost during COMMIT.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

import asyncpg
import structlog
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from shared import metrics
from shared.errors import Unavailable

T = TypeVar("T")
Tx = AsyncConnection
Operation = Callable[[Tx], Awaitable[T]]

ATTEMPTS = 4
RETRY_STATES = {"40001": "serialization", "40P01": "deadlock"}
# asyncpg's own errors come through unwrapped while a connection is being made.
FAILURES = (
    DBAPIError, PoolTimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError,
    TimeoutError,
)  # fmt: skip
PASSING_STATES = {
    "08": "connection",  # connection exception
    "53": "resources",  # too many connections, disk full, out of memory
    "55P03": "lock timeout",
    "57014": "statement timeout",
    "57P0": "connection",  # the server is shutting down or starting
}

log = structlog.get_logger()


def server_settings(name: str) -> dict[str, str]:
    """Limits that every connection of the platform works under."""
    return {
        "application_name": name,
        "statement_timeout": "10000",
        "lock_timeout": "5000",
        "idle_in_transaction_session_timeout": "15000",
        "jit": "off",
    }


class Database:
    """A connection pool of one service, in its own schema."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._reader = engine.execution_options(isolation_level="AUTOCOMMIT")  # the same pool
        self.on_outbox: list[Callable[[], None]] = []

    @classmethod
    def connect(cls, url: str, *, name: str, pool_size: int = 5) -> "Database":
        """Make the pool; connections are opened when they are needed."""
        engine = create_async_engine(
            url.replace("postgresql://", "postgresql+asyncpg://", 1),
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=5,
            hide_parameters=True,  # errors are logged, and parameters may be secrets
            connect_args={"server_settings": server_settings(name), "timeout": 5},
        )
        return cls(engine)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tx]:
        """Open a transaction: COMMIT at the end of the block, ROLLBACK on an exception."""
        async with self._engine.begin() as tx:
            tx.info.pop("outbox", None)
            yield tx
            has_messages = tx.info.pop("outbox", False)
        if has_messages:
            for wake in self.on_outbox:
                wake()

    async def run(self, operation: Operation[T]) -> T:
        """Run an idempotent operation in a transaction, again after a passing failure.

        Raises:
            Unavailable: if the database cannot be reached; the outcome is unknown.
        """
        return await _repeat(self.transaction, operation)

    async def read(self, operation: Operation[T]) -> T:
        """Run a query without the round trips of BEGIN and COMMIT, again after a passing failure.

        Several queries in one operation see each their own moment.

        Raises:
            Unavailable: if the database cannot be reached.
        """
        return await _repeat(self._reader.connect, operation)

    async def ping(self) -> None:
        """Raise if the database does not answer."""
        async with self._engine.connect() as connection:
            await connection.execute(text("select 1"))

    async def migration_head(self) -> str | None:
        """Return the revision that the schema stands at."""
        async with self._engine.connect() as connection:
            row = await connection.execute(text("select version_num from alembic_version"))
            value: str | None = row.scalar_one_or_none()
            return value

    async def close(self) -> None:
        await self._engine.dispose()


async def _repeat(
    connect: Callable[[], AbstractAsyncContextManager[Tx]], operation: Operation[T]
) -> T:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            async with connect() as tx:
                return await operation(tx)
        except FAILURES as error:
            cause = passing_cause(error)
            if cause is None:
                raise
            metrics.DB_RETRIES.labels(cause).inc()
            if attempt == ATTEMPTS:
                raise Unavailable("the database is not reachable") from error
            await asyncio.sleep(0.02 * 4 ** (attempt - 1))
    raise AssertionError("unreachable")


def sqlstate(error: BaseException) -> str | None:
    """Return the SQLSTATE of a database error, if it has one."""
    origin: Any = getattr(error, "orig", error)
    value: str | None = getattr(origin, "sqlstate", None)
    return value


def passing_cause(error: BaseException) -> str | None:
    """Name why running the transaction again may help; None if it will not."""
    state = sqlstate(error)
    if state in RETRY_STATES:
        return RETRY_STATES[state]
    if state is not None:
        return next((c for s, c in PASSING_STATES.items() if state.startswith(s)), None)
    if isinstance(error, PoolTimeoutError):
        return "pool"
    if isinstance(error, DBAPIError):
        return "connection" if error.connection_invalidated else None
    return "connection"
