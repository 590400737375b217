"""The schema, and that the runtime role can do no more than the service needs."""

from collections import defaultdict
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import TypeAlias

import asyncpg
import pytest

from auth.app import MIGRATIONS
from samovar.addresses import Addresses
from samovar.background import run_blocking
from shared import migrations
from shared.ids import new_id

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
NOW = datetime.now(UTC)


@pytest.fixture
async def runtime(infra: Addresses) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(infra.database_url("auth"))
    yield connection
    await connection.close()


@pytest.fixture
async def session_id(admin: Connection) -> str:
    """A revoked session with a replaced token, of a guest."""
    player_id, session_id = new_id(), new_id()
    await admin.execute(
        "insert into player (id, kind, nickname, created_at) values ($1, 'guest', 'Bob', $2)",
        player_id, NOW,
    )  # fmt: skip
    await admin.execute(
        """
        insert into session (id, player_id, created_at, last_used_at, expires_at, revoked_at,
          revoke_reason)
        values ($1, $2, $3, $3, $3::timestamptz + interval '1 day', $3, 'logout')
        """,
        session_id, player_id, NOW,
    )  # fmt: skip
    await admin.execute(
        """
        insert into refresh_token (hash, session_id, issued_at, expires_at, replaced_at)
        values (sha256($2), $1, $3, $3::timestamptz + interval '1 day', $3)
        """,
        session_id, session_id.bytes, NOW,
    )  # fmt: skip
    return str(session_id)


async def test_migrating_again_changes_nothing(infra: Addresses, runtime: Connection) -> None:
    run_blocking(lambda: migrations.upgrade(MIGRATIONS, infra.owner_url("auth")))

    assert await runtime.fetchval("select version_num from alembic_version") == migrations.head(
        MIGRATIONS
    )


async def test_the_runtime_role_has_exactly_these_rights(
    infra: Addresses, admin: Connection
) -> None:
    rights: dict[str, set[str]] = defaultdict(set)
    for table, privilege in await admin.fetch("""
        select table_name, privilege_type from information_schema.role_table_grants
        where grantee = 'auth_runtime'
    """):
        rights[table].add(privilege)
    updatable: dict[str, set[str]] = defaultdict(set)
    for table, column in await admin.fetch("""
        select table_name, column_name from information_schema.role_column_grants
        where grantee = 'auth_runtime' and privilege_type = 'UPDATE'
    """):
        updatable[table].add(column)

    assert rights == {
        "player": {"SELECT"},
        "session": {"SELECT", "DELETE"},
        "refresh_token": {"SELECT", "INSERT", "DELETE"},
        "idempotency_key": {"SELECT", "INSERT", "DELETE"},
        "alembic_version": {"SELECT"},
    }
    assert updatable == {
        "player": {"nickname", "password_hash"},
        "session": {"last_used_at", "revoked_at", "revoke_reason", "announced_at"},
        "refresh_token": {"replaced_at"},
    }


@pytest.mark.parametrize(
    "statement",
    [
        "insert into player (id, kind, nickname, is_admin, created_at)"
        " values (gen_random_uuid(), 'registered', 'Eve', true, now())",
        "update player set is_admin = true",
        "update player set kind = 'bot'",
        "update player set email_key = 'eve@example.com'",
        "delete from player",
        "truncate session cascade",
        "update session set expires_at = now() + interval '100 years'",
        "update session set player_id = gen_random_uuid()",
        "update refresh_token set session_id = gen_random_uuid()",
        "update refresh_token set expires_at = now()",
        "update idempotency_key set fingerprint = hash",
        "update alembic_version set version_num = 'x'",
        "create table mine (id int)",
        "create temporary table mine (id int)",
        "alter table player add column mine int",
        "drop table idempotency_key",
        "drop trigger session_stays_revoked on session",
        "set role auth_owner",
        "select 1 from lobby.alembic_version",
        "select 1 from economy.alembic_version",
        "select pg_read_file('/etc/passwd')",
    ],
)
async def test_the_runtime_role_is_refused(runtime: Connection, statement: str) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await runtime.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "update session set revoked_at = null, revoke_reason = null where id = $1",
        "update session set revoked_at = now() where id = $1",
        "update refresh_token set replaced_at = null where session_id = $1",
        "update refresh_token set replaced_at = now() where session_id = $1",
    ],
)
async def test_what_has_ended_stays_ended(
    runtime: Connection, session_id: str, statement: str
) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await runtime.execute(statement, session_id)


@pytest.mark.parametrize(
    ("kind", "email", "password_hash"),
    [
        ("registered", None, None), ("registered", "a@example.com", None),
        ("guest", "a@example.com", None), ("guest", None, "hash"), ("bot", "b@example.com", "hash"),
        ("robot", None, None),
    ],
)  # fmt: skip
async def test_kinds_and_credentials_cannot_contradict_each_other(
    runtime: Connection, kind: str, email: str | None, password_hash: str | None
) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await runtime.execute(
            """
            insert into player (id, kind, nickname, email, email_key, password_hash, created_at)
            values ($1, $2, 'Bob', $3, $3, $4, $5)
            """,
            new_id(), kind, email, password_hash, NOW,
        )  # fmt: skip


async def test_the_role_follows_from_what_a_player_is(admin: Connection) -> None:
    async with admin.transaction():
        roles = []
        for kind, is_admin in (("guest", False), ("registered", False), ("registered", True)):
            player_id = new_id()
            email = f"{player_id}@example.com" if kind == "registered" else None
            roles.append(
                await admin.fetchval(
                    """
                    insert into player (id, kind, nickname, email, email_key, password_hash,
                      is_admin, created_at)
                    values ($1, $2, 'Bob', $3, $3, $3, $4, $5) returning role
                    """,
                    player_id, kind, email, is_admin, NOW,
                )
            )  # fmt: skip

    assert roles == ["guest", "player", "admin"]
