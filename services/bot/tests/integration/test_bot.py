"""The bot service on real NATS, against an engine that hosts one game with the real rules."""

import asyncio
import contextlib
from uuid import uuid4

import msgspec
import pytest

from bot.app import compose
from bot.player import request_id_of
from bot.settings import Settings
from games.durak.game import DURAK
from games.durak.state import DurakOptions, Mode
from shared.bus import Bus
from shared.contracts.base import decode, encode
from shared.contracts.engine import (
    BOT_ACT,
    BOT_PUSH,
    LIST_WAITING_BOTS,
    ActReply,
    ActRequest,
    BotTurn,
    BotTurns,
)
from shared.errors import AppError, StaleState
from shared.ids import bot_id
from shared.lifecycle import start
from tests.serving import serve_in_tasks

NEVER_S = 3600


class Engine:
    """One game of bots: judges, remembers replies by request id, and tells who is to act.

    Attributes:
        requests: Every request that arrived.
        accepted: Those that changed the game.
        lost_replies: How many of the next replies are not sent.
    """

    def __init__(self, bus, players, *, mode=Mode.THROW_IN, does_push=True):
        self.bus = bus
        self.game_id = uuid4()
        self.seats = [bot_id(number) for number in range(players)]
        self.state, _ = DURAK.setup(players, DurakOptions(mode=mode), bytes(32), 0)
        self.last_move = self.state.event_count
        self.does_push = does_push
        self.listed = None
        self.requests = []
        self.accepted = {}
        self.lost_replies = 0
        self._changed = asyncio.Condition()

    async def serve(self):
        await serve_in_tasks(self.bus, BOT_ACT, self.on_act)
        await self.bus.serve(LIST_WAITING_BOTS, self.on_list)

    async def on_act(self, incoming):
        request = decode(ActRequest, incoming.data)
        self.requests.append(request)
        try:
            reply = self.judge(request)
        except AppError as error:
            await incoming.refuse(error)
        else:
            if self.lost_replies:
                self.lost_replies -= 1
            else:
                await incoming.reply(reply)
            await self.push_turns()
        async with self._changed:
            self._changed.notify_all()

    def judge(self, request):
        if request.request_id in self.accepted:
            return self.accepted[request.request_id]
        seat = self.seats.index(request.player_id)
        DURAK.require_playing(self.state, seat)
        if not self.last_move <= request.sequence <= self.state.event_count:
            raise StaleState(sequence=self.state.event_count)
        action = DURAK.decode_action(request.type, bytes(request.payload))
        before = self.state.event_count
        self.state, events = DURAK.apply(self.state, seat, action, 0)
        moves = [number for number, event in enumerate(events, before + 1) if event.is_move]
        self.last_move = moves[-1] if moves else self.last_move
        reply = self.accepted[request.request_id] = ActReply(self.state.event_count)
        return reply

    async def on_list(self, _):
        return BotTurns(self.turns() if self.listed is None else self.listed)

    def turns(self):
        return [self.turn(seat) for seat in DURAK.awaited_seats(self.state)]

    def turn(self, seat, **changes):
        turn = BotTurn(
            game_id=self.game_id,
            player_id=self.seats[seat],
            seat=seat,
            game="durak",
            rules_version="1",
            sequence=self.state.event_count,
            public=msgspec.Raw(msgspec.json.encode(DURAK.public_view(self.state))),
            private=msgspec.Raw(msgspec.json.encode(DURAK.private_view(self.state, seat))),
        )
        return msgspec.structs.replace(turn, **changes)

    async def push_turns(self):
        if self.does_push:
            for turn in self.turns():
                await self.push(turn)

    async def push(self, turn):
        await self.bus.push(BOT_PUSH, turn.player_id, encode(turn))

    async def until(self, condition):
        async with asyncio.timeout(30), self._changed:
            await self._changed.wait_for(condition)

    def is_over(self):
        return self.state.finish_kind is not None


@pytest.fixture
async def engine_bus(infra):
    bus = await Bus.connect(
        infra.nats_url, user="game_engine", password=infra.nats_password("game_engine")
    )
    yield bus
    await bus.drain()


@contextlib.asynccontextmanager
async def bots(infra, *, replicas=1, **settings):
    """Run replicas of the service in this process."""
    common = {
        "nats_url": infra.nats_url,
        "nats_user": "bot",
        "nats_password": infra.nats_password("bot"),
        "think_min_s": 0,
        "think_max_s": 0,
        "poll_interval_s": NEVER_S,
    }
    services = [
        await start("bot", Settings(**(common | settings)), compose) for _ in range(replicas)
    ]
    # What was subscribed is known to the server before anything is pushed.
    for service in services:
        await service.bus.client.flush()
    try:
        yield
    finally:
        for service in services:
            await service.close()


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("players", [2, 4])
async def test_pushed_turns_are_played_to_the_end(infra, engine_bus, players, mode):
    engine = Engine(engine_bus, players, mode=mode)
    await engine.serve()

    async with bots(infra):
        await engine.push_turns()
        await engine.until(engine.is_over)

    assert len(engine.accepted) > 20


async def test_turns_whose_pushes_were_lost_are_found_by_polling(infra, engine_bus):
    engine = Engine(engine_bus, 2, does_push=False)
    await engine.serve()

    async with bots(infra, poll_interval_s=0.02):
        await engine.until(lambda: len(engine.accepted) >= 5)

    assert engine.requests


async def test_a_lost_reply_is_asked_for_with_the_same_request(infra, engine_bus):
    engine = Engine(engine_bus, 2, does_push=False)
    await engine.serve()
    engine.lost_replies = 2
    [turn] = engine.turns()

    async with bots(infra, act_timeout_s=0.1):
        await engine.push(turn)
        await engine.until(lambda: len(engine.requests) == 3)

    assert len(engine.accepted) == 1
    assert {request.request_id for request in engine.requests} == {request_id_of(turn)}
    assert len({encode(request) for request in engine.requests}) == 1


async def test_two_replicas_play_a_turn_that_both_see_once(infra, engine_bus):
    engine = Engine(engine_bus, 2, does_push=False)
    await engine.serve()
    engine.listed = engine.turns()  # also after it was played: both replicas find it again

    async with bots(infra, replicas=2, poll_interval_s=0.02):
        await engine.until(lambda: len(engine.requests) >= 6)

    assert len(engine.accepted) == 1
    assert len({encode(request) for request in engine.requests}) == 1


async def test_two_replicas_that_share_pushes_finish_a_game(infra, engine_bus):
    engine = Engine(engine_bus, 3)
    await engine.serve()

    async with bots(infra, replicas=2, poll_interval_s=0.05):
        await engine.push_turns()
        await engine.until(engine.is_over)

    assert len(engine.accepted) > 20


async def test_a_stale_turn_is_dropped(infra, engine_bus):
    engine = Engine(engine_bus, 2, does_push=False)
    await engine.serve()
    [turn] = engine.turns()
    engine.listed = []  # the first poll must not be faster than the pushes
    stale = msgspec.structs.replace(turn, sequence=turn.sequence - 1)

    async with bots(infra):
        await engine.push(stale)
        await engine.until(lambda: len(engine.requests) == 1)
        await engine.push(turn)
        await engine.until(lambda: len(engine.accepted) == 1)

    assert [request.sequence for request in engine.requests] == [stale.sequence, turn.sequence]


async def test_what_no_bot_can_read_or_play_does_not_disturb_the_rest(infra, engine_bus):
    engine = Engine(engine_bus, 2, does_push=False)
    await engine.serve()
    [turn] = engine.turns()

    async with bots(infra):
        await engine_bus.push(BOT_PUSH, turn.player_id, b"not a turn")
        await engine.push(msgspec.structs.replace(turn, game_id=uuid4(), game="unknown"))
        await engine.push(msgspec.structs.replace(turn, game_id=uuid4(), public=msgspec.Raw(b"{}")))
        await engine.push(turn)
        await engine.until(lambda: len(engine.accepted) == 1)

    assert len(engine.requests) == 1
