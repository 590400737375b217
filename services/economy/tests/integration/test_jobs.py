"""The sweeper (J5, S5) and the audit, with lobby and engine answering as the test says."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from economy.audit import INVARIANTS
from economy.jobs import VIOLATIONS, Auditor, Sweeper
from samovar.addresses import Addresses
from shared.bus import Bus
from shared.contracts.economy import (
    SETTLEMENT_COMPLETED,
    FinishKind,
    HoldStatus,
    PlaceHold,
    Settlement,
)
from shared.contracts.engine import (
    ABANDON_GAME,
    GET_GAME,
    AbandonGame,
    GameStatus,
    GameSummary,
    GetGame,
)
from shared.contracts.lobby import CHECK_SEAT, CheckSeat, SeatAnswer
from shared.contracts.walls import STREAM
from shared.db import Database
from shared.ids import new_id
from shared.lifecycle import Service
from tests.integration.bank import (
    Client,
    Pushes,
    Room,
    a_hold,
    a_result,
    economy_settings,
    eventually,
)


@pytest.fixture
def sweeper(infra: Addresses, service: Service, db: Database) -> Sweeper:
    settings = economy_settings(infra, hold_extension_s=100, unsettled_after_s=100)
    return Sweeper(db, service.bus, settings)


class Lobby:
    """Answers whether a seat rests on a hold."""

    def __init__(self) -> None:
        self.seats: set[UUID] = set()
        self.asked: list[UUID] = []
        self.before_answer: Callable[[], Awaitable[None]] | None = None

    async def check_seat(self, request: CheckSeat) -> SeatAnswer:
        self.asked.append(request.hold_id)
        if self.before_answer is not None:
            await self.before_answer()
        return SeatAnswer(needs_hold=request.hold_id in self.seats)


class Engine:
    """Answers how a game stands; any game it was not told about runs."""

    def __init__(self) -> None:
        self.games: dict[UUID, GameStatus] = {}
        self.abandoned: list[AbandonGame] = []

    async def get_game(self, request: GetGame) -> GameSummary:
        status = self.games.get(request.game_id, GameStatus.RUNNING)
        return GameSummary(game_id=request.game_id, status=status)

    async def abandon_game(self, request: AbandonGame) -> GameSummary:
        self.abandoned.append(request)
        return GameSummary(game_id=request.game_id, status=GameStatus.ABANDONED)


@pytest.fixture
async def lobby(infra: Addresses) -> AsyncIterator[Lobby]:
    answering = Lobby()
    bus = await Bus.connect(infra.nats_url, user="lobby", password=infra.nats_password("lobby"))
    await bus.serve(CHECK_SEAT, answering.check_seat)
    await bus.client.flush()
    yield answering
    await bus.drain()


@pytest.fixture
async def engine(infra: Addresses) -> AsyncIterator[Engine]:
    answering = Engine()
    password = infra.nats_password("game_engine")
    bus = await Bus.connect(infra.nats_url, user="game_engine", password=password)
    await bus.serve(GET_GAME, answering.get_game)
    await bus.serve(ABANDON_GAME, answering.abandon_game)
    await bus.client.flush()
    yield answering
    await bus.drain()


async def overdue_hold(client: Client) -> PlaceHold:
    past = datetime.now(UTC) - timedelta(seconds=1)
    hold = a_hold(new_id(), new_id(), 40, expires_at=past)
    await client.place(hold)
    return hold


async def repairs(runtime: asyncpg.Connection, subject_id: UUID) -> list[tuple[str, str]]:
    rows = await runtime.fetch(
        "select crash_row, action from recovery_event where subject_id = $1", subject_id
    )
    return [(row[0], row[1]) for row in rows]


# --- J5 -------------------------------------------------------------------------------------------


async def test_j5_orphan_hold_is_released(
    client: Client, sweeper: Sweeper, lobby: Lobby, runtime: asyncpg.Connection, pushes: Pushes
) -> None:
    hold = await overdue_hold(client)

    await sweeper.tick()
    await sweeper.tick()

    assert lobby.asked.count(hold.hold_id) == 1
    assert (await client.hold(hold.hold_id)).status is HoldStatus.RELEASED
    assert (await client.balance(hold.player_id)).available == 1000
    assert await repairs(runtime, hold.hold_id) == [("J5", "hold released")]

    async def is_told() -> bool:
        return any(frame["held"] == 0 for frame in pushes.of(hold.player_id)[2:])

    await eventually(is_told)


async def test_j5_hold_with_a_seat_is_kept_and_asked_about_later(
    client: Client, sweeper: Sweeper, lobby: Lobby
) -> None:
    hold = await overdue_hold(client)
    lobby.seats.add(hold.hold_id)

    await sweeper.tick()
    await sweeper.tick()

    assert lobby.asked.count(hold.hold_id) == 1
    assert (await client.hold(hold.hold_id)).status is HoldStatus.HELD


async def test_j5_silent_lobby_means_the_hold_is_kept(
    client: Client, sweeper: Sweeper, runtime: asyncpg.Connection
) -> None:
    hold = await overdue_hold(client)

    await sweeper.tick()

    assert (await client.hold(hold.hold_id)).status is HoldStatus.HELD
    is_extended = await runtime.fetchval(
        "select expires_at > now() from hold where hold_id = $1", hold.hold_id
    )
    assert is_extended


async def test_j5_hold_captured_while_lobby_was_asked_stays_captured(
    client: Client, sweeper: Sweeper, lobby: Lobby
) -> None:
    room = Room(40, [new_id(), new_id()])
    for player_id in room.players:
        past = datetime.now(UTC) - timedelta(seconds=1)
        hold = a_hold(player_id, room.room_id, 40, expires_at=past)
        await client.place(hold)
        room.holds.append(hold.hold_id)

    async def capture() -> None:
        await client.capture(room)

    lobby.before_answer = capture
    await sweeper.tick()

    assert {(await client.hold(hold)).status for hold in room.holds} == {HoldStatus.CAPTURED}
    await client.settle(a_result(room))


# --- S5 -------------------------------------------------------------------------------------------


async def unsettled_game(client: Client, runtime: asyncpg.Connection) -> Room:
    """Capture a game that the sweeper is to ask about now."""
    room = await client.captured_room()
    await runtime.execute(
        "update settlement set next_check_at = now() where game_id = $1", room.game_id
    )
    return room


async def test_s5_game_that_the_engine_does_not_know_is_abandoned(
    client: Client, sweeper: Sweeper, engine: Engine, runtime: asyncpg.Connection
) -> None:
    room = await unsettled_game(client, runtime)
    engine.games[room.game_id] = GameStatus.UNKNOWN

    await sweeper.tick()
    await sweeper.tick()
    await client.settle(a_result(room, FinishKind.CANCELLED))  # what the engine does about it

    (request,) = engine.abandoned
    assert (request.game_id, request.room_id) == (room.game_id, room.room_id)
    assert request.has_stake
    assert list(request.player_ids) == room.players
    assert await repairs(runtime, room.game_id) == [("S5", "game abandoned")]
    assert (await client.balance(room.players[0])).available == 1000


@pytest.mark.parametrize("status", [GameStatus.RUNNING, GameStatus.FINISHED, GameStatus.ABANDONED])
async def test_s5_game_that_the_engine_knows_is_waited_for(
    status: GameStatus, client: Client, sweeper: Sweeper, engine: Engine,
    runtime: asyncpg.Connection,
) -> None:  # fmt: skip
    room = await unsettled_game(client, runtime)
    engine.games[room.game_id] = status

    await sweeper.tick()

    assert engine.abandoned == []
    assert await repairs(runtime, room.game_id) == []
    assert await is_postponed(runtime, room)


async def test_s5_silent_engine_means_waiting(
    client: Client, sweeper: Sweeper, runtime: asyncpg.Connection
) -> None:
    room = await unsettled_game(client, runtime)

    await sweeper.tick()

    assert await is_postponed(runtime, room)
    assert not (await client.settle(a_result(room))).already_finalized


async def is_postponed(runtime: asyncpg.Connection, room: Room) -> bool:
    return bool(
        await runtime.fetchval(
            "select next_check_at > now() from settlement where game_id = $1", room.game_id
        )
    )


# --- facts and audit ------------------------------------------------------------------------------


async def test_settlement_is_published_to_the_stream(client: Client, infra: Addresses) -> None:
    room = await client.captured_room()

    settlement = await client.settle(a_result(room))

    bus = await Bus.connect(infra.nats_url, user="lobby", password=infra.nats_password("lobby"))
    heard: list[Settlement] = []
    consumer = await bus.client.jetstream().pull_subscribe_bind(durable="lobby", stream=STREAM)

    async def is_published() -> bool:
        for message in await consumer.fetch(10, timeout=2):
            await message.ack()
            if message.subject == SETTLEMENT_COMPLETED.subject(settlement):
                heard.append(Settlement.model_validate_json(message.data))
        return bool(heard)

    await eventually(is_published)
    await bus.drain()
    assert heard == [settlement]


async def test_audit_exports_that_nothing_is_wrong(client: Client, db: Database) -> None:
    room = await client.captured_room()
    await client.settle(a_result(room))

    await Auditor(db).tick()

    gauges = {i.name: VIOLATIONS.labels(i.name)._value.get() for i in INVARIANTS}
    assert gauges == dict.fromkeys(["I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9"], 0)
