"""The embedded servers: restarts after a crash, data that survive, ports that are taken."""

import socket
from pathlib import Path

import asyncpg
import nats
import psutil
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from samovar import ports, process
from samovar.background import run
from samovar.embedded.stack import Infra
from samovar.errors import StackError
from shared.contracts.economy import SETTLEMENT_COMPLETED
from shared.contracts.walls import CONSUMERS, STREAM

FACT = SETTLEMENT_COMPLETED.pattern.replace("*", "1")


async def _query(infra: Infra, statement: str) -> object:
    connection = await asyncpg.connect(infra.owner_url("economy"))
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def _publish_fact(infra: Infra) -> None:
    connection = await nats.connect(
        infra.nats_url,
        user="economy",
        password=infra.nats_password("economy"),
        inbox_prefix=b"_INBOX_economy",
    )
    try:
        await connection.jetstream().publish(FACT, b"{}")
    finally:
        await connection.close()


async def _stream(infra: Infra) -> tuple[int, set[str]]:
    """Return how many facts the stream holds, and its consumers."""
    connection = await nats.connect(
        infra.nats_url,
        user="bootstrap",
        password=infra.nats_password("bootstrap"),
        inbox_prefix=b"_INBOX_bootstrap",
    )
    try:
        info = await connection.jetstream().stream_info(STREAM)
        consumers = await connection.jetstream().consumers_info(STREAM)
        return info.state.messages, {consumer.name for consumer in consumers}
    finally:
        await connection.close()


def test_a_killed_postgres_starts_again_on_its_port_with_its_data(own_infra: Infra) -> None:
    port = own_infra.postgres.port
    run(_query(own_infra, "create table kept (value integer)"))
    run(_query(own_infra, "insert into kept values (7)"))

    own_infra.postgres.kill()
    own_infra.postgres.start()

    assert own_infra.postgres.port == port
    assert run(_query(own_infra, "select value from kept")) == 7


def test_a_killed_nats_starts_again_on_its_port_with_its_facts(own_infra: Infra) -> None:
    run(_publish_fact(own_infra))
    before, _ = run(_stream(own_infra))

    own_infra.nats.kill()
    own_infra.nats.start()

    assert before > 0
    assert run(_stream(own_infra)) == (before, set(CONSUMERS))


def test_a_killed_valkey_starts_again_and_has_forgotten(own_infra: Infra) -> None:
    with redis.Redis.from_url(own_infra.redis_url) as client:
        client.set("key", "value")

    own_infra.valkey.kill()
    own_infra.valkey.start()

    with redis.Redis.from_url(own_infra.redis_url) as client:
        assert client.get("key") is None


def test_valkey_refuses_who_has_no_password(own_infra: Infra) -> None:
    with (
        redis.Redis(
            host="127.0.0.1", port=own_infra.valkey.port, retry=Retry(NoBackoff(), 0)
        ) as client,
        pytest.raises(redis.AuthenticationError),
    ):
        client.ping()


def test_a_second_run_finds_its_data_and_no_process_is_left_between(empty_root: Path) -> None:
    first = Infra.start(empty_root, fsync=False)
    run(_query(first, "create table kept as select 7 as value"))
    run(_publish_fact(first))
    family = [
        member
        for server in first.servers
        if server.running is not None
        for member in [psutil.Process(server.running.pid), *process.descendants(server.running.pid)]
    ]

    first.stop()

    assert len(family) > len(first.servers)
    assert not any(process.is_living(member) for member in family)
    second = Infra.start(empty_root, fsync=False)
    try:
        assert run(_query(second, "select value from kept")) == 7
        assert run(_stream(second)) == (1, set(CONSUMERS))
    finally:
        second.stop()


def test_a_taken_port_stops_the_start_and_leaves_nothing_running(empty_root: Path) -> None:
    table = {name: ports.free_port() for name in ports.DEFAULT_PORTS}
    with socket.create_server((ports.LOOPBACK, table["nats"])):
        infra = Infra(empty_root, fixed=table, fsync=False)

        with pytest.raises(StackError, match=rf"port {table['nats']} \(nats\) is taken by"):
            infra.start_all()

    assert all(server.running is None for server in infra.servers)


def test_data_of_another_postgres_version_are_left_alone(empty_root: Path) -> None:
    infra = Infra(empty_root, fsync=False)
    data = infra.postgres.files.data
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("9\n")

    with pytest.raises(StackError, match="were made by PostgreSQL 9, but the server found is"):
        infra.postgres.start()

    assert (data / "PG_VERSION").read_text() == "9\n"


def test_secrets_and_data_of_different_installations_are_told_apart(empty_root: Path) -> None:
    first = Infra(empty_root, fsync=False)
    first.postgres.start()
    first.postgres.stop()
    (empty_root / "secrets" / "passwords.json").unlink()
    second = Infra(empty_root, fsync=False)

    try:
        with pytest.raises(StackError, match="secrets do not belong together"):
            second.postgres.start()
    finally:
        second.stop()
