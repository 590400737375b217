"""The protocol vectors PR-01 to PR-10 at the engine's door, and games that are in the way."""

import asyncio
import json
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from shared.contracts import engine

VECTORS = {
    vector["id"]: vector
    for vector in json.loads(
        (Path(__file__).parents[4] / "tests" / "vectors" / "durak.json").read_text("utf-8")
    )["vectors"]
    if vector["kind"] == "protocol"
}


EMPTY = msgspec.Raw(b"{}")


async def opening(table, rng, helpers):
    """Return seat, type and payload of a legal first attack, and the sequence it is for."""
    record = await table.record()
    return (*helpers.random_move(record, rng), record.sequence)


async def test_a_repeated_request_is_answered_the_same_and_plays_once(
    platform, running, rng, helpers
):
    assert VECTORS["PR-01"]["then"]["results"][1] == "same ACTION_ACCEPTED as first"
    table = await platform.new_table()
    seat, type_, payload, sequence = await opening(table, rng, helpers)
    request_id = uuid4()

    first = await table.act(seat, type_, payload, sequence=sequence, request_id=request_id)
    again = await table.act(seat, type_, payload, sequence=sequence, request_id=request_id)

    assert first == again
    assert (await table.record()).sequence == first.sequence
    assert await table.requests() == {request_id: 1}


async def test_a_request_id_with_another_body_is_refused(platform, running, rng, helpers):
    assert VECTORS["PR-02"]["then"]["results"][1] == "ERR_INVALID_REQUEST"
    table = await platform.new_table()
    seat, type_, payload, sequence = await opening(table, rng, helpers)
    request_id = uuid4()
    reply = await table.act(seat, type_, payload, sequence=sequence, request_id=request_id)

    refusal = await helpers.code_of(table.act(seat, "TAKE", request_id=request_id))

    assert refusal == ("ERR_INVALID_REQUEST", {"sequence": reply.sequence})


async def test_players_may_use_the_same_request_id(platform, running, rng, helpers):
    assert VECTORS["PR-03"]["then"]["results"] == ["ACTION_ACCEPTED"] * 2
    table = await platform.new_table()
    seat, type_, payload, sequence = await opening(table, rng, helpers)
    request_id = uuid4()

    await table.act(seat, type_, payload, sequence=sequence, request_id=request_id)
    await table.act(1 - seat, "TAKE", request_id=request_id)

    assert await table.requests() == {request_id: 2}


async def test_an_unknown_type_is_an_invalid_request(platform, running, helpers):
    assert VECTORS["PR-05"]["then"]["results"] == ["ERR_INVALID_REQUEST"]
    table = await platform.new_table()

    assert (await helpers.code_of(table.act(0, "SHUFFLE")))[0] == "ERR_INVALID_REQUEST"


@pytest.mark.parametrize("raw", [b"{", b"{}", b'{"sequence":"12"}', b"\xff\xfe"])
async def test_what_is_no_request_is_refused(platform, running, raw):
    assert VECTORS["PR-06"]["then"]["results"] == ["ERR_INVALID_REQUEST"] * 3

    reply = await platform.realtime.client.request(engine.ACT.subject, raw, timeout=3)

    assert json.loads(reply.data)["code"] == "ERR_INVALID_REQUEST"


async def test_identity_in_the_payload_is_ignored(platform, running, rng, helpers):
    assert VECTORS["PR-08"]["then"]["results"] == ["ERR_NOT_YOUR_TURN"]
    table = await platform.new_table()
    seat, type_, payload, sequence = await opening(table, rng, helpers)
    claim = {**payload, "seat": seat, "player_id": str(table.players[seat])}

    refusal = await helpers.code_of(table.act(1 - seat, type_, claim, sequence=sequence))

    assert refusal[0] in ("ERR_NOT_YOUR_TURN", "ERR_CARD_NOT_IN_HAND")
    assert refusal[0] == "ERR_NOT_YOUR_TURN"


async def test_an_unknown_game_and_an_outsider_are_refused(platform, running, helpers):
    assert VECTORS["PR-10"]["then"]["results"] == ["ERR_GAME_NOT_FOUND"]
    table = await platform.new_table()
    request = engine.ActRequest(UUID(int=0), table.players[0], uuid4(), None, "TAKE", EMPTY)

    unknown, _ = await helpers.code_of(platform.realtime.call(engine.ACT, request))
    outsider, _ = await helpers.code_of(table.act(0, "TAKE", player_id=uuid4()))

    assert (unknown, outsider) == ("ERR_GAME_NOT_FOUND", "ERR_PLAYER_NOT_IN_GAME")


async def test_a_stale_sequence_is_refused_with_the_present_one(platform, running, rng, helpers):
    table = await platform.new_table()
    seat, type_, payload, sequence = await opening(table, rng, helpers)
    reply = await table.act(seat, type_, payload, sequence=sequence)

    for stale in (sequence, 0, reply.sequence + 1):
        refusal = await helpers.code_of(table.act(1 - seat, "TAKE", sequence=stale))
        assert refusal == ("ERR_STALE_STATE", {"sequence": reply.sequence})


async def test_a_preference_is_kept_by_the_next_replica(platform, start_engine, rng, helpers):
    first = await start_engine()
    table = await platform.new_table()
    sequence = (await table.record()).sequence

    reply = await table.act(0, "SET_AUTO_PASS", {"on": True})
    await first.close()
    await start_engine()

    assert reply.sequence == sequence
    assert (await table.record()).state.auto_pass == 1
    await table.play_out(rng)
    await table.assert_proven()


async def test_a_locked_game_is_refused_as_unavailable_and_delays_no_other(
    platform, running, rng, helpers
):
    locked, other = await platform.new_table(), await platform.new_table()
    seat, type_, payload, sequence = await opening(locked, rng, helpers)
    request_id = uuid4()
    owner = await asyncpg.connect(platform.infra.owner_url("engine"))
    async with owner.transaction():
        await owner.execute("select from game where game_id = $1 for update", locked.game_id)
        waiting = asyncio.create_task(
            helpers.code_of(
                locked.act(seat, type_, payload, sequence=sequence, request_id=request_id)
            )
        )
        assert await other.move(rng)
        assert not waiting.done()
        code, _ = await waiting
    await owner.close()

    assert code == "ERR_UNAVAILABLE"
    await locked.act(seat, type_, payload, sequence=sequence, request_id=request_id)
    assert await locked.requests() == {request_id: 1}


async def test_a_statement_that_fails_hurts_only_its_own_game(platform, running, rng, helpers):
    broken = await platform.new_table()
    others = [await platform.new_table() for _ in range(10)]
    sequence = (await broken.record()).sequence
    await platform.sql(
        "alter table game add constraint broken_on_purpose check"
        f" (game_id <> '{broken.game_id}' or sequence <= {sequence})"
    )
    try:
        results = await helpers.together(
            helpers.code_of(table.move(rng)) for table in (broken, *others)
        )
    finally:
        await platform.sql("alter table game drop constraint broken_on_purpose")

    assert [code for code, _ in results] == ["ERR_INTERNAL"] + ["OK"] * 10
    assert await broken.move(rng)


async def test_a_full_queue_refuses_at_once(platform, start_engine, rng, helpers):
    await start_engine(QUEUE_SIZE=2)
    table = await platform.new_table()
    owner = await asyncpg.connect(platform.infra.owner_url("engine"))
    async with owner.transaction():
        await owner.execute("lock table game in access exclusive mode")
        results = helpers.together(
            helpers.code_of(table.act(0, "TAKE", timeout_s=8)) for _ in range(6)
        )
        waiting = asyncio.create_task(results)
        await helpers.eventually(
            lambda: platform.sql(
                "select 1 from pg_stat_activity where wait_event_type = 'Lock'"
                " and application_name = 'game_engine moves'",
                url=platform.infra.admin_url,
            )
        )
    codes = [code for code, _ in await waiting]
    await owner.close()

    assert codes.count("ERR_UNAVAILABLE") in (3, 4)  # one may be in the batch already
    assert set(codes) - {"ERR_UNAVAILABLE"} <= {"ERR_INVALID_PHASE", "ERR_NOT_YOUR_TURN"}
