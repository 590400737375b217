import asyncio
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from shared import errors
from shared.bus import Bus
from shared.contracts import auth, economy, engine, lobby, realtime
from shared.contracts.base import encode


@pytest.fixture
async def connect(infra):
    made = []

    async def make(user):
        bus = await Bus.connect(infra.nats_url, user=user, password=infra.nats_password(user))
        made.append(bus)
        return bus

    yield make
    for bus in made:
        await bus.drain()


def hold_request():
    return economy.PlaceHold(
        hold_id=uuid4(), player_id=uuid4(), room_id=uuid4(), amount=5, expires_at=datetime.now(UTC)
    )


async def served(connect, handler, command=economy.PLACE_HOLD):
    server, client = await connect("economy"), await connect("lobby")
    await server.serve(command, handler)
    await server.client.flush()
    return client


async def test_a_command_reaches_its_owner_and_the_reply_comes_back(connect):
    async def handler(request):
        return economy.HoldView(hold_id=request.hold_id, status=economy.HoldStatus.HELD)

    client = await served(connect, handler)
    request = hold_request()

    reply = await client.call(economy.PLACE_HOLD, request)

    assert reply == economy.HoldView(hold_id=request.hold_id, status="held")


async def test_a_typed_refusal_arrives_with_code_text_and_details(connect):
    async def handler(request):
        raise errors.InsufficientFunds("short of coins", available=3)

    client = await served(connect, handler)

    with pytest.raises(errors.InsufficientFunds, match="short of coins") as refused:
        await client.call(economy.PLACE_HOLD, hold_request())
    assert refused.value.details == {"available": 3}


async def test_a_bug_becomes_err_internal_without_its_text(connect):
    async def handler(request):
        raise KeyError("secret column")

    client = await served(connect, handler)

    with pytest.raises(errors.Internal) as failed:
        await client.call(economy.PLACE_HOLD, hold_request())
    assert "secret" not in str(failed.value)


async def test_a_request_of_a_wrong_shape_is_refused_before_the_handler(connect):
    called = []

    async def handler(request):
        called.append(request)

    client = await served(connect, handler)

    msg = await client.client.request(economy.PLACE_HOLD.subject, b'{"hold_id": 1}', timeout=3)

    assert msg.headers["Nats-Service-Error"] == "ERR_INVALID_REQUEST"
    assert not called


async def test_a_handler_over_its_time_is_a_timeout_for_the_caller(connect):
    async def handler(request):
        await asyncio.Event().wait()

    client = await served(connect, handler)

    with pytest.raises(errors.Timeout):
        await client.call(economy.PLACE_HOLD, hold_request(), timeout_s=0.2)


async def test_a_reply_that_is_not_understood_is_no_refusal(connect):
    server, client = await connect("economy"), await connect("lobby")

    def answer(incoming):
        incoming.client.post(incoming.reply_to, b'{"from": "the future"}')

    await server.serve_deferred(economy.PLACE_HOLD, answer)
    await server.client.flush()

    with pytest.raises(errors.UNKNOWN_OUTCOME):
        await client.call(economy.PLACE_HOLD, hold_request())


async def test_a_refusal_that_the_command_does_not_declare_is_no_refusal(connect):
    async def handler(request):
        raise errors.RoomFull

    client = await served(connect, handler)

    with pytest.raises(errors.Internal):
        await client.call(economy.PLACE_HOLD, hold_request())


async def test_connecting_in_vain_ends(infra):
    with pytest.raises(TimeoutError):
        await Bus.connect("nats://127.0.0.1:1", user="lobby", password="x", patience_s=0.5)


async def test_nobody_serving_means_outcome_unknown(connect):
    client = await connect("lobby")

    with pytest.raises(errors.UNKNOWN_OUTCOME):
        await client.call(engine.GET_GAME, engine.GetGame(game_id=uuid4()), timeout_s=0.3)


async def test_requests_run_side_by_side_and_a_flood_is_refused_at_once(connect):
    gate = asyncio.Event()

    async def handler(request):
        await gate.wait()
        return economy.HoldView(hold_id=request.hold_id, status=None)

    client = await served(connect, handler)
    calls = [
        asyncio.create_task(client.call(economy.PLACE_HOLD, hold_request(), timeout_s=10))
        for _ in range(520)
    ]
    done, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    gate.set()
    results = await asyncio.gather(*calls, return_exceptions=True)

    assert isinstance(next(iter(done)).exception(), errors.Unavailable)
    assert sum(isinstance(r, economy.HoldView) for r in results) == 512
    assert sum(isinstance(r, errors.Unavailable) for r in results) == 8


async def test_a_denied_request_is_counted_and_not_answered(connect):
    lobby_bus = await connect("lobby")
    before = _denied()

    with pytest.raises(errors.UNKNOWN_OUTCOME):
        await lobby_bus.call(
            economy.SETTLE,
            economy.Settle(game_id=uuid4(), room_id=uuid4(), finish_kind="normal", standings=()),
            timeout_s=0.3,
        )

    assert _denied() == before + 1


def _denied():
    from shared import metrics

    return metrics.BUS_DENIED._value.get()


async def test_pushes_arrive_in_order_with_their_key(connect):
    engine_bus, gateway = await connect("game_engine"), await connect("realtime")
    seen, key = [], uuid4()
    done = asyncio.Event()

    async def on_push(of, payload):
        seen.append((of, payload))
        if len(seen) == 50:
            done.set()

    await gateway.watch(engine.GAME_PUSH, key, on_push)
    await gateway.client.flush()
    for number in range(50):
        await engine_bus.push(engine.GAME_PUSH, key, b"%d" % number)
    await engine_bus.push(engine.GAME_PUSH, uuid4(), b"another game")
    await asyncio.wait_for(done.wait(), 5)

    assert seen == [(str(key), b"%d" % n) for n in range(50)]


async def test_a_shared_watch_gives_each_push_to_one_member(connect):
    engine_bus = await connect("game_engine")
    seen = []
    done = asyncio.Event()

    async def on_push(key, payload):
        seen.append(payload)
        if len(seen) == 20:
            done.set()

    for _ in range(2):
        bot = await connect("bot")
        await bot.watch_shared(engine.BOT_PUSH, "bot", on_push)
        await bot.client.flush()
    for number in range(20):
        await engine_bus.push(engine.BOT_PUSH, uuid4(), b"%d" % number)
    await asyncio.wait_for(done.wait(), 5)
    await engine_bus.client.flush()

    assert sorted(seen) == sorted(b"%d" % n for n in range(20))


async def test_draining_lets_a_running_request_answer(connect):
    started, gate = asyncio.Event(), asyncio.Event()
    server, client = await connect("economy"), await connect("lobby")

    async def handler(request):
        started.set()
        await gate.wait()
        return economy.HoldView(hold_id=request.hold_id, status=None)

    await server.serve(economy.PLACE_HOLD, handler)
    call = asyncio.create_task(client.call(economy.PLACE_HOLD, hold_request()))
    await asyncio.wait_for(started.wait(), 3)
    drain = asyncio.create_task(server.drain())
    await asyncio.sleep(0)
    gate.set()

    assert (await call).status is None
    await drain


async def test_services_can_be_discovered_by_the_operator(connect):
    server, operator = await connect("lobby"), await connect("operator")

    async def handler(request):
        raise errors.RoomNotFound

    await server.serve(lobby.GET_ROOM, handler)
    await server.client.flush()

    answer = await operator.client.request("$SRV.INFO.lobby", b"", timeout=3)

    assert lobby.GET_ROOM.subject.encode() in answer.data


def test_frames_carry_type_and_version():
    assert realtime.frame("PONG", a=1) == b'{"type":"PONG","version":1,"a":1}'
    assert encode(auth.Empty()) == b"{}"
