"""Every PostgreSQL role tries to cross every wall, and is refused by the server."""

from collections.abc import AsyncIterator
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from samovar.addresses import Addresses
from samovar.credentials import SCHEMAS

KINDS = ("owner", "runtime")


def _url(infra: Addresses, schema: str, kind: str) -> str:
    return infra.owner_url(schema) if kind == "owner" else infra.database_url(schema)


@pytest.fixture(scope="module")
async def probes(infra: Addresses) -> AsyncIterator[None]:
    """A table in each schema, which its runtime role may read and extend."""
    for schema in SCHEMAS:
        connection = await asyncpg.connect(infra.owner_url(schema))
        await connection.execute("create table wall_probe (value integer)")
        await connection.execute(f"grant select, insert on wall_probe to {schema}_runtime")
        await connection.close()
    yield
    for schema in SCHEMAS:
        connection = await asyncpg.connect(infra.owner_url(schema))
        await connection.execute("drop table wall_probe")
        await connection.close()


@pytest.fixture(params=[(schema, kind) for schema in SCHEMAS for kind in KINDS], ids="_".join)
def role(request: pytest.FixtureRequest) -> tuple[str, str]:
    schema, kind = request.param
    return schema, kind


@pytest.fixture
async def connection(
    infra: Addresses, role: tuple[str, str], probes: None
) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(_url(infra, *role))
    yield connection
    await connection.close()


async def test_a_name_without_schema_means_the_own_schema(
    connection: asyncpg.Connection, role: tuple[str, str]
) -> None:
    assert await connection.fetchval("select current_schemas(false)") == [role[0]]
    await connection.execute("insert into wall_probe (value) values (1)")


async def test_no_role_sees_the_schema_of_another(
    connection: asyncpg.Connection, role: tuple[str, str]
) -> None:
    for other in set(SCHEMAS) - {role[0]}:
        for statement in (
            f"select * from {other}.wall_probe",
            f"insert into {other}.wall_probe (value) values (1)",
            f"create table {other}.mine (value integer)",
            f"drop schema {other} cascade",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(statement)


async def test_no_role_makes_anything_outside_its_schema(connection: asyncpg.Connection) -> None:
    for statement in (
        "create table public.mine (value integer)",
        "create temporary table mine (value integer)",
        "create schema mine",
        "create database mine",
        "create role mine",
        "create extension dblink",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)


async def test_no_role_becomes_another(
    connection: asyncpg.Connection, role: tuple[str, str]
) -> None:
    names = {f"{schema}_{kind}" for schema in SCHEMAS for kind in KINDS} - {"_".join(role)}
    for name in names:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(f"set role {name}")


async def test_no_role_reads_passwords_or_files(connection: asyncpg.Connection) -> None:
    for statement in (
        "select rolpassword from pg_authid",
        "select pg_read_file('/etc/passwd')",
        "copy (select 1) to program 'true'",
        "alter system set fsync = off",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)


@pytest.mark.parametrize("database", ["postgres", "template1"])
async def test_roles_enter_no_other_database(
    infra: Addresses, role: tuple[str, str], database: str
) -> None:
    url = urlunsplit(urlsplit(_url(infra, *role))._replace(path=f"/{database}"))

    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await asyncpg.connect(url)


@pytest.mark.parametrize("schema", SCHEMAS)
async def test_a_runtime_role_changes_no_table_of_its_own_schema(
    infra: Addresses, schema: str, probes: None
) -> None:
    connection = await asyncpg.connect(infra.database_url(schema))
    try:
        for statement in (
            "alter table wall_probe add column other integer",
            "drop table wall_probe",
            "truncate wall_probe",
            "update wall_probe set value = 2",
            "delete from wall_probe",
            "create table mine (value integer)",
            f"create function {schema}.mine() returns integer language sql as 'select 1'",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(statement)
    finally:
        await connection.close()


async def test_a_wrong_password_does_not_open_the_door(infra: Addresses) -> None:
    url = infra.database_url("economy")
    password = urlsplit(url).password
    assert password is not None

    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(url.replace(password, "wrong"))


async def test_a_second_bootstrap_keeps_open_connections_and_data(
    infra: Addresses, probes: None
) -> None:
    connection = await asyncpg.connect(infra.database_url("economy"))
    try:
        await connection.execute("insert into wall_probe (value) values (42)")

        infra.bootstrap()

        assert await connection.fetchval("select count(*) from wall_probe where value = 42") == 1
    finally:
        await connection.close()
