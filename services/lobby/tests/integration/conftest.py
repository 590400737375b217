from collections.abc import AsyncIterator

import pytest
from sqlalchemy import text

from samovar.addresses import Addresses
from services.lobby.tests.integration.fakes import FakeAuth, FakeEconomy, FakeEngine
from services.lobby.tests.integration.world import World, subscribed
from shared.bus import Bus
from shared.db import Database
from tests.fixtures import infra_of_a_part

infra = infra_of_a_part()


@pytest.fixture
async def db(infra: Addresses) -> AsyncIterator[Database]:
    """The lobby's tables, empty, seen as their owner."""
    db = Database.connect(infra.owner_url("lobby"), name="lobby-tests", pool_size=2)
    async with db.transaction() as tx:
        await tx.execute(
            text("""
                truncate room, seat, join_request, recovery_event, outbox, inbox, dead_letter
            """)
        )
    yield db
    await db.close()


@pytest.fixture
async def world(infra: Addresses, db: Database) -> AsyncIterator[World]:
    """Fresh partners, no lobby yet."""
    gateway = await Bus.connect(
        infra.nats_url, user="realtime", password=infra.nats_password("realtime")
    )
    made = World(infra, db, gateway, FakeEconomy(), FakeEngine(), FakeAuth())
    partners = (made.economy, made.engine, made.auth)
    for partner in partners:
        await partner.start(infra)
        await subscribed(partner.bus)
    await made.watch()
    yield made
    await made.stop()
    if made.process is not None:
        made.process.kill()
    for partner in partners:
        await partner.stop()
    await gateway.drain()
