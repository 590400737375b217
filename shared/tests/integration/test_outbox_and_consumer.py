"""Outbox, relay, stream, consumer and inbox on real servers, in the otherwise empty schema."""

import asyncio
from datetime import UTC, datetime
from uuid import uuid4

import asyncpg
import pytest
from sqlalchemy import text

from shared import errors
from shared.bus import Bus
from shared.bus.consumer import Consumer
from shared.bus.outbox import MESSAGING_DDL, Relay, add, call, messaging_grants
from shared.contracts import economy, engine
from shared.contracts.economy import FinishKind
from shared.db import Database

SCHEMA = "realtime"  # this service keeps no tables, so the tests may


@pytest.fixture(scope="module")
async def tables(infra):
    owner = await asyncpg.connect(infra.owner_url(SCHEMA))
    await owner.execute(MESSAGING_DDL + messaging_grants(SCHEMA))
    yield
    await owner.execute("drop table outbox, inbox, dead_letter")
    await owner.close()


@pytest.fixture
async def db(infra, tables):
    database = Database.connect(infra.database_url(SCHEMA), name="test", pool_size=5)
    yield database
    async with database.transaction() as tx:
        await tx.execute(text("delete from outbox"))
    await database.close()


@pytest.fixture
async def bus_of(infra):
    made = []

    async def make(user):
        made.append(
            await Bus.connect(infra.nats_url, user=user, password=infra.nats_password(user))
        )
        return made[-1]

    yield make
    for bus in made:
        await bus.drain()


@pytest.fixture
async def running():
    stop, tasks = asyncio.Event(), []

    def start(run):
        tasks.append(asyncio.create_task(run(stop)))

    yield start
    stop.set()
    await asyncio.gather(*tasks)


def result(game_id=None):
    return engine.GameResult(
        game_id=game_id or uuid4(), room_id=uuid4(), game="durak", finish_kind=FinishKind.NORMAL,
        standings=(), has_stake=False, finished_at=datetime.now(UTC),
    )  # fmt: skip


def settle(game_id=None):
    return economy.Settle(
        game_id=game_id or uuid4(), room_id=uuid4(), finish_kind=FinishKind.CANCELLED, standings=()
    )


def settled(request):
    return economy.Settlement(
        game_id=request.game_id, room_id=request.room_id, finish_kind="cancelled",
        pool=0, rake=0, credits=(),
    )  # fmt: skip


async def count(db, table):
    async with db.transaction() as tx:
        return (await tx.execute(text(f"select count(*) from {table}"))).scalar_one()


async def until(condition, timeout_s=10):
    async with asyncio.timeout(timeout_s):
        while not await condition():  # noqa: ASYNC110  # the condition lies in the database
            await asyncio.sleep(0.02)


async def test_a_fact_is_published_once_its_transaction_commits(db, bus_of, running):
    relay = Relay(db, await bus_of("game_engine"))
    running(relay.run)
    consumer_bus, seen = await bus_of("lobby"), []
    consumer = Consumer(db, consumer_bus, "lobby")

    async def handler(tx, payload):
        seen.append(payload)

    consumer.on(engine.GAME_FINISHED, handler)
    running(consumer.run)
    kept, dropped = result(), result()

    async def roll_back():
        async with db.transaction() as tx:
            await add(tx, engine.GAME_FINISHED, dropped)
            raise RuntimeError("rolled back")

    with pytest.raises(RuntimeError, match="rolled back"):
        await roll_back()
    async with db.transaction() as tx:
        await add(tx, engine.GAME_FINISHED, kept)

    async def arrived():
        return kept in seen and await count(db, "outbox") == 0

    await until(arrived)
    assert dropped not in seen


async def test_a_fact_whose_acknowledgement_was_lost_is_not_handled_again(db, bus_of, running):
    publisher, consumer_bus, seen = await bus_of("game_engine"), await bus_of("lobby"), []
    consumer = Consumer(db, consumer_bus, "lobby")
    handled_before, fresh = result(), result()
    known_id = uuid4()
    async with db.transaction() as tx:
        await tx.execute(text("insert into inbox (message_id) values (:id)"), {"id": known_id})

    async def handler(tx, payload):
        seen.append(payload.game_id)

    consumer.on(engine.GAME_FINISHED, handler)
    running(consumer.run)
    for fact, message_id in ((handled_before, known_id), (fresh, uuid4())):
        await publisher.client.jetstream().publish(
            engine.GAME_FINISHED.subject(fact), fact.model_dump_json().encode(),
            headers={"Nats-Msg-Id": str(message_id)},
        )  # fmt: skip

    async def arrived():
        return fresh.game_id in seen

    await until(arrived)
    assert handled_before.game_id not in seen


async def test_a_durable_call_is_repeated_until_it_is_answered(db, bus_of, running):
    engine_bus, economy_bus, seen = await bus_of("game_engine"), await bus_of("economy"), []

    async def handler(request):
        seen.append(request.game_id)
        if len(seen) < 3:
            raise RuntimeError("not yet")
        return settled(request)

    await economy_bus.serve(economy.SETTLE, handler)
    await economy_bus.client.flush()
    running(Relay(db, engine_bus).run)
    request = settle()

    async with db.transaction() as tx:
        await call(tx, economy.SETTLE, request)

    async def done():
        return await count(db, "outbox") == 0

    await until(done)
    assert seen == [request.game_id] * 3


async def test_a_typed_refusal_of_a_durable_call_becomes_a_dead_letter(db, bus_of, running):
    engine_bus, economy_bus = await bus_of("game_engine"), await bus_of("economy")

    async def handler(request):
        raise errors.HoldFailed("constraint")

    await economy_bus.serve(economy.SETTLE, handler)
    await economy_bus.client.flush()
    before = await count(db, "dead_letter")
    running(Relay(db, engine_bus).run)

    async with db.transaction() as tx:
        await call(tx, economy.SETTLE, settle())

    async def buried():
        return await count(db, "dead_letter") == before + 1 and await count(db, "outbox") == 0

    await until(buried)


async def test_two_relays_share_the_work(db, bus_of, running):
    engine_bus, economy_bus, seen = await bus_of("game_engine"), await bus_of("economy"), []

    async def handler(request):
        seen.append(request.game_id)
        return settled(request)

    await economy_bus.serve(economy.SETTLE, handler)
    await economy_bus.client.flush()
    requests = [settle() for _ in range(120)]
    async with db.transaction() as tx:
        for request in requests:
            await call(tx, economy.SETTLE, request)
    for _ in range(2):
        running(Relay(db, engine_bus).run)

    async def done():
        return await count(db, "outbox") == 0

    await until(done)
    assert sorted(seen) == sorted(request.game_id for request in requests)


async def test_a_handler_that_fails_is_asked_again(db, bus_of, running):
    publisher, consumer_bus, tries = await bus_of("game_engine"), await bus_of("lobby"), []
    fact = result()
    consumer = Consumer(db, consumer_bus, "lobby")

    async def handler(tx, payload):
        if payload.game_id == fact.game_id:
            tries.append(1)
            if len(tries) < 3:
                raise ValueError("try again")

    consumer.on(engine.GAME_FINISHED, handler)
    running(consumer.run)

    await publisher.client.jetstream().publish(
        engine.GAME_FINISHED.subject(fact), fact.model_dump_json().encode(),
        headers={"Nats-Msg-Id": str(uuid4())},
    )  # fmt: skip

    async def handled():
        return len(tries) == 3

    await until(handled)


async def test_a_deadlock_is_run_again_and_both_transactions_win(db):
    async with db.transaction() as tx:
        for _ in range(2):
            await call(tx, economy.SETTLE, settle())
        ids = [row[0] for row in await tx.execute(text("select id from outbox order by id"))]
    first_holds = [asyncio.Event(), asyncio.Event()]
    runs = []

    async def lock(tx, mine, other):
        runs.append(mine)
        statement = text("update outbox set attempts = attempts + 1 where id = :id")
        await tx.execute(statement, {"id": ids[mine]})
        first_holds[mine].set()
        await first_holds[other].wait()
        await tx.execute(statement, {"id": ids[other]})

    await asyncio.gather(db.run(lambda tx: lock(tx, 0, 1)), db.run(lambda tx: lock(tx, 1, 0)))

    async with db.transaction() as tx:
        attempts = (await tx.execute(text("select attempts from outbox"))).scalars().all()
    assert list(attempts) == [2, 2]
    assert len(runs) == 3


async def test_a_connection_that_is_killed_is_replaced_within_the_same_run(db, infra):
    admin = await asyncpg.connect(infra.admin_url)
    runs = []

    async def work(tx):
        runs.append(1)
        if len(runs) == 1:
            pid = (await tx.execute(text("select pg_backend_pid()"))).scalar_one()
            await admin.execute("select pg_terminate_backend($1)", pid)
        return (await tx.execute(text("select 42"))).scalar_one()

    assert await db.run(work) == 42
    assert len(runs) == 2
    await admin.close()


async def test_an_event_that_fails_for_ever_becomes_a_dead_letter(db, bus_of, running, monkeypatch):
    monkeypatch.setattr("shared.bus.consumer.RETRY_S", 0.01)
    publisher, consumer_bus, tries = await bus_of("game_engine"), await bus_of("lobby"), []
    fact, message_id = result(), uuid4()
    consumer = Consumer(db, consumer_bus, "lobby")

    async def handler(tx, payload):
        if payload.game_id == fact.game_id:
            tries.append(1)
            raise ValueError("a bug")

    consumer.on(engine.GAME_FINISHED, handler)
    running(consumer.run)
    await publisher.client.jetstream().publish(
        engine.GAME_FINISHED.subject(fact), fact.model_dump_json().encode(),
        headers={"Nats-Msg-Id": str(message_id)},
    )  # fmt: skip

    async def buried():
        async with db.transaction() as tx:
            found = await tx.execute(
                text("select source, payload from dead_letter where id = :id"), {"id": message_id}
            )
            return found.one_or_none()

    await until(buried)
    assert len(tries) == 10
    assert (await buried()).source == "consumer"


async def test_an_absent_database_is_waited_for_and_is_no_failure(db, bus_of, running, monkeypatch):
    monkeypatch.setattr("shared.bus.consumer.RETRY_S", 0.01)
    publisher, consumer_bus, tries = await bus_of("game_engine"), await bus_of("lobby"), []
    fact = result()
    consumer = Consumer(db, consumer_bus, "lobby")

    async def handler(tx, payload):
        if payload.game_id == fact.game_id:
            tries.append(1)
            if len(tries) <= 15:
                raise errors.Unavailable
            if len(tries) == 16:
                raise ValueError("a hiccup after the outage")

    consumer.on(engine.GAME_FINISHED, handler)
    running(consumer.run)
    await publisher.client.jetstream().publish(
        engine.GAME_FINISHED.subject(fact), fact.model_dump_json().encode(),
        headers={"Nats-Msg-Id": str(uuid4())},
    )  # fmt: skip

    async def handled():
        return len(tries) == 17

    await until(handled)


async def test_an_outbox_message_that_cannot_be_read_does_not_stop_the_others(db, bus_of, running):
    engine_bus, economy_bus = await bus_of("game_engine"), await bus_of("economy")
    unknown, unreadable = uuid4(), uuid4()

    async def handler(request):
        return settled(request)

    await economy_bus.serve(economy.SETTLE, handler)
    await economy_bus.client.flush()
    async with db.transaction() as tx:
        for id_, subject in (
            (unknown, "rpc.economy.v1.gone"),
            (unreadable, "rpc.economy.v1.settle"),
        ):
            await tx.execute(
                text("""
                    insert into outbox (id, kind, subject, payload)
                    values (:id, 'call', :subject, '{}')
                """),
                {"id": id_, "subject": subject},
            )
        await call(tx, economy.SETTLE, settle())
    running(Relay(db, engine_bus).run)

    async def empty():
        return await count(db, "outbox") == 0

    await until(empty)
    async with db.transaction() as tx:
        buried = (await tx.execute(text("select id from dead_letter"))).scalars().all()
    assert {unknown, unreadable} <= set(buried)


async def test_receipts_are_forgotten_once_the_stream_has_forgotten_the_message(
    db, bus_of, running
):
    old, recent = uuid4(), uuid4()
    async with db.transaction() as tx:
        await tx.execute(
            text("insert into inbox values (:old, now() - interval '15 days'), (:recent, now())"),
            {"old": old, "recent": recent},
        )
    running(Relay(db, await bus_of("game_engine")).run)

    async def purged():
        async with db.transaction() as tx:
            left = (await tx.execute(text("select message_id from inbox"))).scalars().all()
        return recent in left and old not in left

    await until(purged)


async def test_a_read_needs_no_transaction_and_leaves_the_pool_clean(infra, tables):
    small = Database.connect(infra.database_url(SCHEMA), name="test", pool_size=1)

    async def moments(tx):
        query = text("select transaction_timestamp()")
        first = (await tx.execute(query)).scalar_one()
        await tx.execute(text("select pg_sleep(0.002)"))
        return first == (await tx.execute(query)).scalar_one()

    assert await small.read(moments) is False
    assert await small.run(moments) is True
    assert await small.read(moments) is False
    await small.close()
