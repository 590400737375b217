"""Economy killed before and after each COMMIT (J3, S1, F3, EC-12): repeating puts all right."""

import asyncio
from collections.abc import Awaitable, Iterator

import pytest

from economy.audit import find_violations
from samovar.addresses import Addresses
from shared.contracts.economy import HoldStatus
from shared.db import Database
from shared.ids import new_id
from tests.forked import ForkedService
from tests.integration.bank import Client, Room, a_hold, a_result, eventually

pytestmark = pytest.mark.chaos


class Replica:
    """One economy process at a time, killed at a failpoint and started again."""

    def __init__(self, infra: Addresses) -> None:
        self._infra = infra
        self._process: ForkedService | None = None

    def start(self, failpoint: str | None = None) -> None:
        self.stop()
        self._process = ForkedService(self._infra, "economy", FAILPOINT=failpoint or "")
        self._process.start()

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop()

    async def is_killed(self) -> bool:
        return self._process is not None and not self._process.is_alive()


@pytest.fixture
def replica(infra: Addresses) -> Iterator[Replica]:
    running = Replica(infra)
    yield running
    running.stop()


@pytest.mark.parametrize("moment", ["before_commit", "after_commit"])
async def test_match_is_paid_once_though_economy_is_killed_at_each_commit(
    moment: str, replica: Replica, outside: Client, db: Database
) -> None:
    room = Room(100, [new_id(), new_id()])
    holds = [a_hold(player_id, room.room_id, room.bet) for player_id in room.players]
    room.holds = [hold.hold_id for hold in holds]

    async def killed(work: Awaitable[object]) -> None:
        asked = asyncio.ensure_future(work)
        await eventually(replica.is_killed)
        assert not asked.done()
        asked.cancel()  # nobody will answer

    replica.start(f"economy.hold.{moment}")
    await killed(outside.place(holds[0]))
    replica.start(f"economy.capture.{moment}")
    views = [await outside.place(hold) for hold in holds]
    assert {view.status for view in views} == {HoldStatus.HELD}

    await killed(outside.capture(room))
    replica.start(f"economy.settle.{moment}")
    assert (await outside.capture(room)).pool == 200
    assert await money(outside, room) == [(900, 100), (900, 100)]

    await killed(outside.settle(a_result(room)))
    replica.start()
    settlement = await outside.settle(a_result(room))

    assert settlement.already_finalized == (moment == "after_commit")
    assert (settlement.pool, settlement.rake) == (200, 25)
    assert await money(outside, room) == [(1075, 0), (900, 0)]
    assert await db.run(find_violations) == []


async def money(client: Client, room: Room) -> list[tuple[int, int]]:
    balances = [await client.balance(player) for player in room.players]
    return [(balance.available, balance.held) for balance in balances]
