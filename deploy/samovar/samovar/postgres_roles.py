"""The database, its schemas and roles: the walls between the services' data. Idempotent."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from string import Template
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from samovar import paths
from samovar.credentials import SCHEMAS
from samovar.errors import StackError

DATABASE: Final = "samovar"
_SCRAM_ITERATIONS: Final = 4096


async def create_roles(admin_url: str, passwords: Mapping[str, str]) -> None:
    """Create what is missing and set every right and password anew.

    Args:
        admin_url: A superuser's address, of any database.
        passwords: ``<schema>_owner`` and ``<schema>_runtime`` to password.

    Raises:
        StackError: if PostgreSQL cannot be reached or refuses.
    """
    try:
        await _create_cluster_objects(_with_database(admin_url, "postgres"), passwords)
        await _create_schemas(_with_database(admin_url, DATABASE))
    except (asyncpg.PostgresError, OSError) as error:
        raise StackError(f"cannot create roles and schemas in PostgreSQL: {error}") from error


async def _create_cluster_objects(url: str, passwords: Mapping[str, str]) -> None:
    connection = await asyncpg.connect(url, timeout=10, command_timeout=30)
    try:
        # Two bootstraps at once wait for each other instead of failing.
        await connection.execute("select pg_advisory_lock(hashtext('samovar bootstrap'))")
        for schema in SCHEMAS:
            for kind in ("owner", "runtime"):
                role = f"{schema}_{kind}"
                text = _sql("role.sql", role=role, verifier=scram_verifier(passwords[role]))
                await connection.execute(text)
        exists = await connection.fetchval("select 1 from pg_database where datname = $1", DATABASE)
        if not exists:
            # Bytewise collation: the same order on every machine, whatever its locales.
            await connection.execute(
                f"create database {DATABASE} template template0 encoding 'UTF8' locale 'C.UTF-8'"
            )
        await connection.execute(_sql("database.sql", database=DATABASE))
    finally:
        await connection.close()


async def _create_schemas(url: str) -> None:
    connection = await asyncpg.connect(url, timeout=10, command_timeout=30)
    try:
        await connection.execute("select pg_advisory_lock(hashtext('samovar bootstrap'))")
        for schema in SCHEMAS:
            await connection.execute(_sql("schema.sql", schema=schema, database=DATABASE))
    finally:
        await connection.close()


def _sql(name: str, **names: str) -> str:
    """Fill a text of ``deploy/postgres``; only names and verifiers of our own go in."""
    return Template(paths.deploy_file("postgres", name).read_text()).substitute(names)


def _with_database(url: str, database: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{database}"))


def scram_verifier(password: str) -> str:
    """Return what PostgreSQL stores for a password, so that no log can ever see the password."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _SCRAM_ITERATIONS)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    stored_key = hashlib.sha256(client_key).digest()
    return (
        f"SCRAM-SHA-256${_SCRAM_ITERATIONS}:{_base64(salt)}"
        f"${_base64(stored_key)}:{_base64(server_key)}"
    )


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
