"""Bots: their own door, and only what their seat sees."""

import json

import msgspec

from shared.contracts import engine
from shared.contracts.base import decode


async def test_bots_play_a_game_among_themselves_through_their_own_door(
    platform, running, rng, helpers
):
    table = await platform.new_table(3, bots=(0, 1, 2))

    while (record := await table.record()).result is None:
        seat, type_, payload = helpers.random_move(record, rng)
        await platform.bot.call(engine.BOT_ACT, request_of(table, seat, type_, payload))

    await table.assert_proven()


async def test_a_bot_is_called_when_the_turn_comes_to_it(platform, running, rng, helpers):
    calls = []
    watch = await platform.watch(engine.BOT_PUSH, None, calls)
    table = await platform.new_table(2, bots=(1,))
    record = await table.record()
    if record.state.attacker == 0:
        await table.move(rng)

    await helpers.eventually(lambda: helpers.true(calls))
    await watch.stop()

    turn = decode(engine.BotTurn, calls[0])
    assert (turn.game_id, turn.player_id, turn.seat) == (table.game_id, table.players[1], 1)
    assert turn.sequence == (await table.record()).sequence
    assert len(json.loads(bytes(turn.private))["cards"]) == 6


async def test_each_door_refuses_the_others_seats(platform, running, helpers):
    table = await platform.new_table(2, bots=(1,))

    as_player, _ = await helpers.code_of(table.act(1, "TAKE"))
    as_bot, _ = await helpers.code_of(
        platform.bot.call(engine.BOT_ACT, request_of(table, 0, "TAKE", {}))
    )

    assert (as_player, as_bot) == ("ERR_FORBIDDEN", "ERR_FORBIDDEN")


async def test_a_bot_that_was_not_reached_is_listed_after_a_while(platform, running, helpers):
    table = await platform.new_table(2, bots=(0, 1))
    attacker = (await table.record()).state.attacker

    async def listed():
        waiting = await platform.bot.call(engine.LIST_WAITING_BOTS, engine.NoContent())
        return [turn for turn in waiting.turns if turn.game_id == table.game_id]

    (turn,) = await helpers.eventually(listed)
    assert turn.seat == attacker


def request_of(table, seat, type_, payload):
    from uuid import uuid4

    raw = msgspec.Raw(msgspec.json.encode(payload))
    return engine.ActRequest(table.game_id, table.players[seat], uuid4(), None, type_, raw)
