from collections.abc import AsyncIterator

import pytest

from samovar.addresses import Addresses
from services.realtime.tests.integration.world import World
from tests.fixtures import infra_of_a_part

infra = infra_of_a_part()


@pytest.fixture
async def around(infra: Addresses) -> AsyncIterator[World]:
    """The partners, no gateway yet."""
    async with World(infra) as made:
        yield made


@pytest.fixture
async def world(around: World) -> World:
    """The partners and one gateway."""
    await around.start_gateway()
    return around
