"""Many connections, every request sent again, backends killed: in the end the books balance."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar
from uuid import UUID

import asyncpg
import pytest

from economy.audit import find_violations
from economy.rpc import Economy
from samovar.addresses import Addresses
from shared.contracts.economy import (
    CaptureHolds,
    FinishKind,
    GetBalance,
    HoldStatus,
    PlaceHold,
    ReleaseHold,
    Settle,
    Settlement,
)
from shared.db import Database
from shared.errors import UNKNOWN_OUTCOME, HoldFailed, InsufficientFunds
from shared.ids import new_id
from shared.lifecycle import Service
from tests.integration.bank import Room, a_capture, a_hold, a_release, a_result, economy_settings

R = TypeVar("R")

CONNECTIONS = 16
PLAYERS = 10
ROOMS = 40
KILL_EVERY_S = 0.1
APPLICATION = "economy-storm"


@pytest.fixture
async def economy(infra: Addresses, service: Service) -> AsyncIterator[Economy]:
    """The commands over sixteen connections of their own."""
    database = Database.connect(
        infra.database_url("economy"), name=APPLICATION, pool_size=CONNECTIONS
    )
    yield Economy(database, service.bus, economy_settings(infra))
    await database.close()


@asynccontextmanager
async def killing_backends(admin: asyncpg.Connection, rng: random.Random) -> AsyncIterator[None]:
    """Terminate one random backend of the storm again and again, most in mid-transaction."""
    stop = asyncio.Event()

    async def kill() -> int:
        killed = 0
        while not stop.is_set():
            busy = await admin.fetch(
                """
                select pid from pg_stat_activity where application_name = $1
                order by xact_start is null
                """,
                APPLICATION,
            )
            if busy:
                victim = busy[rng.randrange((len(busy) + 1) // 2)]["pid"]
                killed += await admin.fetchval("select pg_terminate_backend($1)::int", victim)
            try:
                await asyncio.wait_for(stop.wait(), KILL_EVERY_S)
            except TimeoutError:
                continue
        return killed

    killer = asyncio.create_task(kill())
    try:
        yield
    finally:
        stop.set()
        assert await killer > 0


async def certain(send: Callable[[], Awaitable[R]]) -> R:
    """Repeat a request until its outcome is known, as every caller of economy does."""
    for _ in range(100):
        try:
            return await send()
        except UNKNOWN_OUTCOME:
            await asyncio.sleep(0.05)
        except HoldFailed as error:
            if not error.details.get("retryable"):
                raise
            await asyncio.sleep(0.05)
    raise AssertionError("no answer after a hundred attempts")


async def repeated(rng: random.Random, send: Callable[[], Awaitable[R]]) -> list[R]:
    """Send a request two or three times at once."""
    return list(await asyncio.gather(*(certain(send) for _ in range(rng.randint(2, 3)))))


class Storm:
    """Rooms that are played at the same time by the same few players."""

    def __init__(self, economy: Economy, seed: int) -> None:
        self.economy = economy
        self.rng = random.Random(seed)
        self.players = [new_id() for _ in range(PLAYERS)]
        self.limit = asyncio.Semaphore(CONNECTIONS)
        self.rake = 0
        self.refused = 0

    async def play_room(self) -> None:
        rng = self.rng
        async with self.limit:
            room = Room(rng.choice([8, 50, 333, 700]), [])
            for player_id in rng.sample(self.players, rng.randint(2, 4)):
                await self.join(room, player_id)
            if len(room.players) < 2 or rng.random() < 0.2:
                await self.cancel(room)
            else:
                await self.capture_and_settle(room)

    async def join(self, room: Room, player_id: UUID) -> None:
        hold = a_hold(player_id, room.room_id, room.bet)
        try:
            views = await repeated(self.rng, lambda: self.place(hold))
        except InsufficientFunds:
            self.refused += 1
            # One of the repetitions may have come in while there was money.
            await certain(lambda: self.release(a_release(hold)))
            return
        assert set(views) == {HoldStatus.HELD}
        room.players.append(player_id)
        room.holds.append(hold.hold_id)

    async def place(self, hold: PlaceHold) -> HoldStatus | None:
        return (await self.economy.place_hold(hold)).status

    async def release(self, request: ReleaseHold) -> HoldStatus | None:
        return (await self.economy.release_hold(request)).status

    async def cancel(self, room: Room) -> None:
        for seat in range(len(room.players)):
            request = room.release(seat)
            views = await repeated(self.rng, lambda request=request: self.release(request))  # type: ignore[misc]  # a default binds the loop's value
            assert set(views) == {HoldStatus.RELEASED}

    async def capture_and_settle(self, room: Room) -> None:
        captured = await repeated(self.rng, lambda: self.capture(a_capture(room)))
        assert set(captured) == {room.bet * len(room.players)}
        result = self.a_random_result(room)
        settlements = await repeated(self.rng, lambda: self.settle(result))
        assert len({s.model_copy(update={"already_finalized": False}) for s in settlements}) == 1
        self.rake += settlements[0].rake

    async def capture(self, request: CaptureHolds) -> int:
        return (await self.economy.capture_holds(request)).pool

    async def settle(self, request: Settle) -> Settlement:
        return await self.economy.settle(request)

    def a_random_result(self, room: Room) -> Settle:
        match self.rng.choice(list(FinishKind)):
            case FinishKind.NORMAL:
                places: list[int | None] = list(range(1, len(room.players) + 1))
                self.rng.shuffle(places)
                return a_result(room, places=places)
            case FinishKind.FORFEIT:
                return a_result(room, FinishKind.FORFEIT, forfeiter=self.rng.choice(room.players))
            case FinishKind.CANCELLED:
                return a_result(room, FinishKind.CANCELLED)


async def test_books_balance_after_a_storm(
    economy: Economy, db: Database, admin: asyncpg.Connection
) -> None:
    seed = random.randrange(2**32)  # pytest-randomly has seeded this and printed how
    storm = Storm(economy, seed)

    async with killing_backends(admin, random.Random(seed)), asyncio.TaskGroup() as rooms:
        for _ in range(ROOMS):
            rooms.create_task(storm.play_room())

    balances = [await economy.get_balance(GetBalance(player_id=player)) for player in storm.players]
    assert storm.refused > 0
    assert [balance.held for balance in balances] == [0] * PLAYERS
    assert sum(balance.available for balance in balances) + storm.rake == 1000 * PLAYERS
    assert await db.run(find_violations) == []
