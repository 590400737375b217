"""Alembic, the same way for every service: forward only, as the schema's owner role."""

import asyncio
from pathlib import Path

from alembic import command, context
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool


def _config(script_location: Path) -> Config:
    config = Config()
    config.set_main_option("script_location", str(script_location).replace("%", "%%"))
    return config


def upgrade(script_location: Path, url: str) -> None:
    """Bring a schema to the newest revision; changes nothing if it stands there already.

    Must not be called from a running event loop.

    Args:
        script_location: The service's ``migrations`` folder.
        url: postgresql:// URL of the schema's owner role.
    """
    config = _config(script_location)
    config.attributes["url"] = url
    command.upgrade(config, "head")


def head(script_location: Path) -> str | None:
    """Return the newest revision that the code knows."""
    return ScriptDirectory.from_config(_config(script_location)).get_current_head()


def run_env(schema: str) -> None:
    """Run the migrations; the whole content of a service's ``env.py``.

    All revisions that are missing are applied in one transaction, under a lock, so that two
    migrators at once do no harm. The runtime role may read the revision (readiness check).
    """
    asyncio.run(_run(schema, context.config.attributes["url"]))


async def _run(schema: str, url: str) -> None:
    engine = create_async_engine(
        url.replace("postgresql://", "postgresql+asyncpg://", 1), poolclass=NullPool
    )
    async with engine.begin() as connection:
        await connection.execute(
            text("select pg_advisory_xact_lock(hashtext(:key))"), {"key": f"migrate:{schema}"}
        )
        await connection.run_sync(_migrate, schema)
    await engine.dispose()


def _migrate(connection: Connection, schema: str) -> None:
    context.configure(connection=connection, version_table_schema=schema)
    with context.begin_transaction():
        context.run_migrations()
    connection.execute(text(f"grant select on {schema}.alembic_version to {schema}_runtime"))
