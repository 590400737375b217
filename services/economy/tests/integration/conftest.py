"""A running economy, and the ways into it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import asyncpg
import pytest

from economy.app import compose
from samovar.addresses import Addresses
from shared.bus import Bus
from shared.contracts.realtime import USER_PUSH
from shared.db import Database
from shared.lifecycle import Service, start
from tests.fixtures import infra_of_a_part
from tests.integration.bank import Client, Pushes, economy_settings

infra = infra_of_a_part()

USERS = ("lobby", "game_engine", "realtime", "operator")


@pytest.fixture(scope="module")
async def service(infra: Addresses) -> AsyncIterator[Service]:
    """Economy in this process, on real servers."""
    running = await start("economy", economy_settings(infra), compose)
    yield running
    await running.close()


@pytest.fixture(scope="module")
async def outside(infra: Addresses) -> AsyncIterator[Client]:
    """Connections of those who may call economy, whether it runs or not."""
    async with AsyncExitStack() as stack:
        buses = {}
        for user in USERS:
            bus = await Bus.connect(infra.nats_url, user=user, password=infra.nats_password(user))
            stack.push_async_callback(bus.drain)
            buses[user] = bus
        yield Client(buses)


@pytest.fixture(scope="module")
async def client(service: Service, outside: Client) -> Client:
    """Connections to the economy of this process."""
    await service.bus.client.flush()  # its subscriptions have reached the server
    return outside


@pytest.fixture(scope="module")
async def db(infra: Addresses) -> AsyncIterator[Database]:
    """The service's database, for use cases that are called without NATS."""
    database = Database.connect(infra.database_url("economy"), name="economy-test", pool_size=4)
    yield database
    await database.close()


@pytest.fixture
async def runtime(infra: Addresses) -> AsyncIterator[asyncpg.Connection]:
    """The database as the service's own role sees it."""
    connection = await asyncpg.connect(infra.database_url("economy"))
    yield connection
    await connection.close()


@pytest.fixture
async def owner(infra: Addresses) -> AsyncIterator[asyncpg.Connection]:
    """The database as the owner of the tables sees it."""
    connection = await asyncpg.connect(infra.owner_url("economy"))
    yield connection
    await connection.close()


@pytest.fixture
async def admin(infra: Addresses) -> AsyncIterator[asyncpg.Connection]:
    """The database as a superuser sees it, who can switch triggers off."""
    connection = await asyncpg.connect(infra.admin_url)
    await connection.execute("set search_path = economy")
    yield connection
    await connection.close()


@pytest.fixture
async def pushes(client: Client) -> AsyncIterator[Pushes]:
    """What players are told from now on."""
    heard = Pushes()
    bus = client.buses["realtime"]
    subscription = await bus.watch(USER_PUSH, None, heard.take)
    await bus.client.flush()
    yield heard
    await subscription.stop()
