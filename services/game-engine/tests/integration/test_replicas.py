"""Two replicas serve the same games: nothing is lost, nothing doubled, whoever is asked."""

import asyncio
from uuid import uuid4

import pytest

pytestmark = pytest.mark.chaos


@pytest.fixture
async def two_replicas(infra):
    replicas = [infra.service("game_engine", number) for number in (1, 2)]
    for replica in replicas:
        replica.launch()
    for replica in replicas:
        await asyncio.to_thread(replica.wait_ready)
    yield replicas
    for replica in replicas:
        await asyncio.to_thread(replica.stop)


async def play_with_rivals(table, rng, helpers):
    """At each step send several moves for the same state at once, each twice; return answers."""
    accepted = {}
    while True:
        record = await table.record()
        if record.result is not None:
            return accepted
        rivals = [(uuid4(), *helpers.random_move(record, rng)) for _ in range(3)]
        calls = [
            helpers.answer_of(
                table.act(seat, type_, payload, sequence=record.sequence, request_id=request_id)
            )
            for request_id, seat, type_, payload in rivals
            for _ in range(2)
        ]
        answers = await helpers.together(calls)
        winners = set()
        for index, (request_id, *_) in enumerate(rivals):
            for answer in answers[2 * index : 2 * index + 2]:
                if not isinstance(answer, str):
                    winners.add(request_id)
                    assert accepted.setdefault(request_id, answer) == answer
        # A pass makes nothing stale, a card everything.
        cards = [type_ for r, _, type_, _ in rivals if r in winners and type_ != "PASS"]
        assert winners
        assert len(cards) <= 1


async def test_rivals_for_the_same_state_never_both_win(platform, two_replicas, rng, helpers):
    tables = [await platform.new_table(rng.choice([2, 3])) for _ in range(6)]

    answers = await helpers.together(play_with_rivals(table, rng, helpers) for table in tables)

    for table, accepted in zip(tables, answers, strict=True):
        await table.assert_proven()
        assert await table.requests() == dict.fromkeys(accepted, 1)
        # One winner for each state: a stale sequence is never accepted after a card was played.
        sequences = sorted(reply.sequence for reply in accepted.values())
        assert len(set(sequences)) == len(sequences)


async def test_both_replicas_expire_a_deadline_once(platform, two_replicas, helpers):
    tables = [await platform.new_table(options={"turn_seconds": 1}) for _ in range(10)]

    async def is_over(table):
        return (await table.record()).result

    for table in tables:
        result = await helpers.eventually(lambda table=table: is_over(table))
        assert result.finish_kind.value == "forfeit"
        types = [event.type for event in await table.events()]
        assert types[-3:] == ["TURN_TIMEOUT", "FORFEIT", "GAME_FINISHED"]
        assert types.count("TURN_TIMEOUT") == 1
        await table.assert_proven()


async def test_a_replica_that_dies_leaves_its_games_to_the_other(
    platform, two_replicas, rng, helpers
):
    tables = [await platform.new_table() for _ in range(6)]
    sent = {table.game_id: set() for table in tables}
    in_mid_play = asyncio.Event()

    async def play(table):
        while (record := await table.record()).result is None:
            seat, type_, payload = helpers.random_move(record, rng)
            request_id = uuid4()
            answer = await helpers.answer_of(
                table.act_surely(
                    seat, type_, payload, sequence=record.sequence, request_id=request_id,
                    timeout_s=1.0,
                )
            )  # fmt: skip
            if not isinstance(answer, str):
                sent[table.game_id].add(request_id)
                if sum(map(len, sent.values())) == 20:
                    in_mid_play.set()

    async def kill():
        await asyncio.wait_for(in_mid_play.wait(), 30)
        await asyncio.to_thread(two_replicas[0].kill)

    await helpers.together([kill(), *(play(table) for table in tables)])

    for table in tables:
        await table.assert_proven()
        assert await table.requests() == dict.fromkeys(sent[table.game_id], 1)


async def test_a_replica_that_is_stopped_answers_everything_it_took(
    platform, two_replicas, rng, helpers
):
    tables = [await platform.new_table() for _ in range(6)]
    stopping = asyncio.Event()

    async def play(table):
        """Nobody repeats anything here: an answer that does not come fails the test."""
        moves = 0
        while await table.move(rng) is not None:
            moves += 1
            if moves == 10:
                stopping.set()

    async def stop():
        await stopping.wait()
        await asyncio.to_thread(two_replicas[0].stop, 10.0)

    await helpers.together([stop(), *(play(table) for table in tables)])

    for table in tables:
        await table.assert_proven()
