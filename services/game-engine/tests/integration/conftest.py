"""An engine on real servers, callers with the rights of the other services, and a played match."""

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from types import SimpleNamespace
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from game_engine import queries
from game_engine.app import compose
from game_engine.domain.replay import differences
from game_engine.settings import EngineSettings
from shared import lifecycle
from shared.bus import Bus
from shared.contracts import economy, engine
from shared.contracts.base import encode
from shared.db import Database
from shared.errors import UNKNOWN_OUTCOME, AppError
from tests.fixtures import infra_of_a_part

infra = infra_of_a_part()


def settings_of(infra, **overrides):
    env = infra.service_env("game_engine", **{"SWEEP_INTERVAL_S": 0.2, **overrides})
    values = {
        name.removeprefix("SAMOVAR_").lower(): value
        for name, value in env.items()
        if name.startswith("SAMOVAR_")
    }
    return EngineSettings(**{**values, "health_port": 0})


async def eventually(condition: Callable[[], Awaitable[object]], timeout_s: float = 10.0):
    """Wait until a condition gives something true, and return that."""
    deadline = time.monotonic() + timeout_s
    while True:
        found = await condition()
        if found:
            return found
        assert time.monotonic() < deadline, "the condition did not come true"
        await asyncio.sleep(0.02)


class Table:
    """One game of durak, as its players and a test see it."""

    def __init__(self, platform, request: engine.CreateGame) -> None:
        self.platform = platform
        self.request = request
        self.game_id = request.game_id
        self.players = [player.player_id for player in request.players]

    async def record(self):
        return await self.platform.db.run(lambda tx: queries.get_record(tx, self.game_id))

    async def events(self):
        return await self.platform.db.run(
            lambda tx: queries.list_events(tx, self.game_id, 0, 100_000)
        )

    async def act(
        self, seat, type_, payload=None, *, sequence=None, request_id=None, player_id=None,
        timeout_s=3.0,
    ):  # fmt: skip
        request = engine.ActRequest(
            self.game_id,
            player_id or self.players[seat],
            request_id or uuid4(),
            sequence,
            type_,
            msgspec.Raw(msgspec.json.encode(payload or {})),
        )
        return await self.platform.realtime.call(engine.ACT, request, timeout_s=timeout_s)

    async def act_surely(self, *arguments, **options):
        """Repeat a command until its outcome is known, as a client does."""
        options["request_id"] = options.get("request_id") or uuid4()
        while True:
            try:
                return await self.act(*arguments, **options)
            except UNKNOWN_OUTCOME:
                await asyncio.sleep(0.05)

    async def options(self):
        rows = await self.platform.sql("select options from game where game_id = $1", self.game_id)
        return rows[0]["options"]

    async def assert_proven(self):
        """Check that the stored events have no gap and give the snapshot again."""
        assert differences(await self.record(), await self.options(), await self.events()) == []

    async def requests(self):
        """Return how many events each request caused."""
        rows = await self.platform.sql(
            "select request_id, count(*) from game_event"
            " where game_id = $1 and request_id is not null group by 1",
            self.game_id,
        )
        return {UUID(str(row[0])): row[1] for row in rows}

    async def move(self, rng, *, request_id=None):
        """Play a random legal move of a seat that is awaited; None when the game is over."""
        record = await self.record()
        if record.result is not None:
            return None
        seat, type_, payload = random_move(record, rng)
        reply = await self.act(
            seat, type_, payload, sequence=record.sequence, request_id=request_id
        )
        return reply.sequence

    async def play_out(self, rng):
        """Play random moves to the end; return how many it took."""
        moves = 0
        while await self.move(rng) is not None:
            moves += 1
        return moves

    async def view(self, player_id):
        return await self.platform.realtime.call(
            engine.GET_VIEW, engine.GetView(self.game_id, player_id)
        )


def random_move(record, rng):
    rules, state = record.info.rules, record.state
    seat = rng.choice(rules.awaited_seats(state))
    type_, payload = rules.encode_action(rng.choice(rules.legal_actions(state, seat)))
    return seat, type_, msgspec.json.decode(payload)


async def code_of(call: Awaitable[object]) -> tuple[str, dict[str, object]]:
    """Return the error that a call ends with."""
    try:
        await call
    except AppError as error:
        return error.code, error.details
    return "OK", {}


async def answer_of(call: Awaitable[object]) -> object:
    """Return the reply of a call, or the code it is refused with."""
    try:
        return await call
    except AppError as error:
        return error.code


async def true(value: object) -> object:
    return value


async def together(calls):
    """Wait for all; the first failure ends the test."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(call) for call in calls]
    return [task.result() for task in tasks]


class Platform:
    """Callers, each with the rights of its service, and the engine's database."""

    def __init__(self, infra, buses: dict[str, Bus], db: Database) -> None:
        self.infra = infra
        self.lobby = buses["lobby"]
        self.realtime = buses["realtime"]
        self.bot = buses["bot"]
        self.operator = buses["operator"]
        self.db = db
        self.settings_of = lambda **overrides: settings_of(infra, **overrides)

    async def new_table(
        self, players=2, *, has_stake=False, is_private=False, bots=(), options=None,
        mode="throw_in", bus=None,
    ) -> Table:  # fmt: skip
        request = engine.CreateGame(
            game_id=uuid4(),
            room_id=uuid4(),
            game="durak",
            mode=mode,
            options=options or {},
            players=tuple(
                engine.GamePlayer(player_id=uuid4(), nickname=f"Player {s}", is_bot=s in bots)
                for s in range(players)
            ),
            has_stake=has_stake,
            is_private=is_private,
        )
        await (bus or self.lobby).call(engine.CREATE_GAME, request)
        return Table(self, request)

    async def sql(self, statement, *arguments, url=None):
        connection = await asyncpg.connect(url or self.infra.owner_url("engine"))
        try:
            return await connection.fetch(statement, *arguments)
        finally:
            await connection.close()

    async def watch(self, push, key, messages: list[bytes]):
        async def keep(_: str, payload: bytes) -> None:
            messages.append(payload)

        bus = self.bot if push is engine.BOT_PUSH else self.realtime
        subscription = await bus.watch(push, key, keep)
        await bus.client.flush()
        return subscription


@pytest.fixture(scope="session")
async def platform(infra) -> AsyncIterator[Platform]:
    users = ("lobby", "realtime", "bot", "operator")
    buses = {
        user: await Bus.connect(infra.nats_url, user=user, password=infra.nats_password(user))
        for user in users
    }
    await buses["realtime"].announce()  # no player's clock runs while no gateway answers
    db = Database.connect(infra.database_url("engine"), name="test")
    yield Platform(infra, buses, db)
    await db.close()
    for bus in buses.values():
        await bus.drain()


@pytest.fixture
async def start_engine(platform) -> AsyncIterator[Callable[..., Awaitable[lifecycle.Service]]]:
    """Start engines in this process; they end with the test."""
    started: list[lifecycle.Service] = []

    async def start(**overrides):
        service = await lifecycle.start("game_engine", platform.settings_of(**overrides), compose)
        started.append(service)
        return service

    yield start
    for service in started:
        await service.close()


@pytest.fixture
async def running(start_engine):
    return await start_engine()


@pytest.fixture
def rng():
    seed = int.from_bytes(os.urandom(4), "big")
    print("seed", seed)  # noqa: T201  # shown when the test fails
    return random.Random(seed)


class Economy:
    """The economy's side of a settlement, with the rights that it has on NATS."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self.settled: list[economy.Settle] = []
        self.known: dict[UUID, economy.Settlement] = {}

    async def serve(self) -> None:
        await self.bus.serve(economy.SETTLE, self._settle)
        await self.bus.serve(economy.GET_SETTLEMENT, self._get)

    async def _settle(self, request: economy.Settle) -> economy.Settlement:
        self.settled.append(request)
        players = [standing.player_id for standing in request.standings]
        is_normal = request.finish_kind is economy.FinishKind.NORMAL
        winners = [standing.player_id for standing in request.standings if standing.place == 1]
        reason = economy.Reason.PAYOUT if is_normal else economy.Reason.REFUND
        return self.known.setdefault(
            request.game_id,
            economy.Settlement(
                game_id=request.game_id,
                room_id=request.room_id,
                finish_kind=request.finish_kind,
                pool=200,
                rake=25 if is_normal else 0,
                credits=tuple(
                    economy.Credit(
                        player_id=player, amount=175 if is_normal else 100, reason=reason
                    )
                    for player in (winners if is_normal else players)
                ),
            ),
        )

    async def _get(self, request: economy.GetSettlement) -> economy.SettlementView:
        settlement = self.known.get(request.game_id)
        return economy.SettlementView(game_id=request.game_id, captured=True, settlement=settlement)

    async def announce(self, game_id: UUID, *, message_id: UUID | None = None) -> None:
        settlement = self.known[game_id]
        await self.bus.client.jetstream().publish(
            economy.SETTLEMENT_COMPLETED.subject(settlement),
            encode(settlement),
            headers={"Nats-Msg-Id": str(message_id or uuid4())},
        )


@pytest.fixture
async def bank(infra) -> AsyncIterator[Economy]:
    password = infra.nats_password("economy")
    bus = await Bus.connect(infra.nats_url, user="economy", password=password)
    bank = Economy(bus)
    await bank.serve()
    yield bank
    await bus.drain()


@pytest.fixture
def helpers():
    return SimpleNamespace(
        eventually=eventually,
        true=true,
        together=together,
        code_of=code_of,
        answer_of=answer_of,
        random_move=random_move,
    )
