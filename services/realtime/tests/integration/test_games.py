"""A game on sockets: brought to it, in order, without gaps, to the end."""

import msgspec

from services.realtime.tests.integration.fake_engine import FakeGame
from services.realtime.tests.integration.world import Client, World, until
from shared.contracts.engine import GAME_PUSH, GamePush
from shared.contracts.realtime import frame
from shared.ids import new_id


async def at_table(world: World, **fields: object) -> tuple[FakeGame, Client, Client]:
    """Two players of a running game, both brought to it."""
    players = [world.auth.identity() for _ in range(2)]
    game = world.engine.game(*(p.player_id for p in players), **fields)
    clients = [await world.enter(player) for player in players]
    for client in clients:
        if not client.of("TURN_TIMER"):
            await client.next("TURN_TIMER")
        client.frames.clear()
    return game, clients[0], clients[1]


def sequences(client: Client) -> list[int]:
    return [frame["sequence"] for frame in client.of("GAME_STATE")]


async def test_a_player_who_connects_gets_state_hand_and_timer_of_each_running_game(
    world: World,
) -> None:
    identity = world.auth.identity()
    games = [world.engine.game(identity.player_id, new_id()) for _ in range(2)]

    client = await world.enter(identity)
    while len(client.of("TURN_TIMER")) < 2:
        await client.next("TURN_TIMER")

    for game in games:
        shown = [f["type"] for f in client.frames if f.get("game_id") == str(game.id)]
        assert shown == ["GAME_STATE", "YOUR_HAND", "TURN_TIMER"]


async def test_a_started_game_is_announced_and_shown(world: World) -> None:
    first, second = world.auth.identity(), world.auth.identity()
    clients = [await world.enter(first), await world.enter(second)]

    game = world.engine.game(first.player_id, second.player_id)
    await world.engine.announce(game)

    for client, identity in zip(clients, (first, second), strict=True):
        assert (await client.next())["type"] == "GAME_STARTED"
        assert (await client.next("GAME_STATE"))["game_id"] == str(game.id)
        assert (await client.next("YOUR_HAND"))["owner"] == str(identity.player_id)
        await client.next("TURN_TIMER")


async def test_everybody_gets_the_public_frames_and_his_own_private_ones(world: World) -> None:
    game, first, second = await at_table(world)
    spectator = await world.enter()
    await spectator.ask("WATCH_GAME", game_id=game.id)

    await world.engine.advance(game)
    for client in (first, second, spectator):
        await client.next("GAME_STATE", sequence=game.sequence)
        await client.settle()

    assert [f["owner"] for f in first.of("YOUR_HAND")] == [str(game.seats[0])]
    assert [f["owner"] for f in second.of("YOUR_HAND")] == [str(game.seats[1])]
    assert spectator.of("YOUR_HAND") == []
    assert len(spectator.of("GAME_EVENT")) == 1


async def test_a_move_is_acknowledged_with_the_identity_of_the_session(world: World) -> None:
    game, first, _ = await at_table(world)
    payload = {"cards": [{"rank": 6, "suit": 1}]}

    reply = await first.ask(
        "ATTACK", game_id=game.id, sequence=game.sequence, payload=payload,
        player_id=game.seats[1], seat=1,
    )  # fmt: skip

    assert reply["type"] == "ACTION_ACCEPTED"
    assert (reply["sequence"], reply["game_id"]) == (game.sequence, str(game.id))
    (act,) = world.engine.acts
    assert (act.player_id, act.type) == (game.seats[0], "ATTACK")
    assert msgspec.json.decode(act.payload) == payload


async def test_a_refusal_names_its_code_and_the_present_sequence(world: World) -> None:
    game, first, _ = await at_table(world)

    reply = await first.ask("TAKE", game_id=game.id, sequence=game.sequence - 1)

    assert (reply["type"], reply["code"]) == ("ACTION_REJECTED", "ERR_STALE_STATE")
    assert reply["sequence"] == game.sequence


async def test_a_repeated_request_passes_through_and_gets_the_same_reply(world: World) -> None:
    game, first, _ = await at_table(world)
    request_id, sequence = new_id(), game.sequence

    replies = [
        await first.ask("TAKE", game_id=game.id, sequence=sequence, request_id=request_id)
        for _ in range(2)
    ]

    assert replies[0] == replies[1]
    assert [act.request_id for act in world.engine.acts] == [request_id] * 2
    assert game.sequence == sequence + 1


async def test_moves_in_a_foreign_and_in_an_unknown_game_are_refused(world: World) -> None:
    game, _, _ = await at_table(world)
    stranger = await world.enter()

    foreign = await stranger.ask("TAKE", game_id=game.id, sequence=game.sequence)
    unknown = await stranger.ask("TAKE", game_id=new_id(), sequence=1)

    assert (foreign["type"], foreign["code"]) == ("ACTION_REJECTED", "ERR_PLAYER_NOT_IN_GAME")
    assert (unknown["type"], unknown["code"]) == ("ACTION_REJECTED", "ERR_GAME_NOT_FOUND")


async def test_pushes_out_of_order_reach_the_client_in_order(world: World) -> None:
    game, first, _ = await at_table(world)
    start = game.sequence

    pushes = []
    for _ in range(3):
        await world.engine.advance(game, is_lost=True)
        pushes.append(msgspec.json.encode(game.push(game.sequence - 1)))
    for index in (1, 2, 0):
        await world.engine.connected.push(GAME_PUSH, game.id, pushes[index])
    await first.next("GAME_STATE", sequence=start + 3)

    assert sequences(first) == [start + 1, start + 2, start + 3]


async def test_a_lost_push_is_fetched_soon_after_the_next_one(around: World) -> None:
    await around.start_gateway(resync_interval_s=600)
    game, first, second = await at_table(around)
    start = game.sequence

    await around.engine.advance(game, is_lost=True)
    await around.engine.advance(game)

    for client in (first, second):
        await client.next("GAME_STATE", sequence=start + 2)
        assert sequences(client) == [start + 2]
    await around.engine.advance(game)
    await first.next("GAME_STATE", sequence=start + 3)


async def test_a_lost_last_push_is_repaired_by_the_resync(world: World) -> None:
    game, first, second = await at_table(world)

    await world.engine.advance(game, is_lost=True)

    for client in (first, second):
        await client.next("GAME_STATE", sequence=game.sequence)
        await client.next("YOUR_HAND", sequence=game.sequence)


async def test_a_lost_end_of_a_game_is_repaired_and_the_game_let_go(world: World) -> None:
    game, first, _ = await at_table(world)

    await world.engine.finish(game, is_lost=True)
    await first.next("GAME_STATE", sequence=game.sequence)

    await _is_let_go(world, first)


async def test_a_game_that_nobody_announced_is_found_by_the_resync(world: World) -> None:
    identity = world.auth.identity()
    client = await world.enter(identity)

    game = world.engine.game(identity.player_id, new_id())

    await client.next("TURN_TIMER", game_id=game.id)
    await world.engine.advance(game)
    await client.next("GAME_STATE", sequence=game.sequence)


async def test_a_nats_outage_is_followed_by_a_resync(around: World) -> None:
    await around.start_gateway(resync_interval_s=600)
    game, first, _ = await at_table(around)

    await around.engine.advance(game, is_lost=True)
    await around.gateway.service.bus.client.force_reconnect()

    await first.next("GAME_STATE", sequence=game.sequence)
    await around.engine.advance(game)
    await first.next("GAME_STATE", sequence=game.sequence)


async def test_old_pushes_are_dropped(world: World) -> None:
    game, first, _ = await at_table(world)
    await world.engine.advance(game)
    await first.next("GAME_STATE", sequence=game.sequence)
    first.frames.clear()

    await world.engine.push(game, game.sequence - 1)
    await world.engine.advance(game)
    await first.next("GAME_STATE", sequence=game.sequence)

    assert sequences(first) == [game.sequence]


async def test_the_end_of_a_game_is_delivered_and_the_game_let_go(world: World) -> None:
    game, first, second = await at_table(world)

    await world.engine.finish(game)

    for client in (first, second):
        await client.next("GAME_STATE", sequence=game.sequence)
        await _is_let_go(world, client)


async def _is_let_go(world: World, client: Client) -> None:
    async def is_unknown() -> bool:
        request_id = await client.say("PING")
        return not (await client.next("PONG", request_id=request_id))["sequences"]

    await until(is_unknown)


async def test_pong_carries_the_sequences_of_the_running_games(world: World) -> None:
    game, first, _ = await at_table(world)

    await first.say("PING")
    pong = await first.next("PONG")

    assert pong["sequences"] == {str(game.id): game.sequence}
    assert pong["server_now_ms"] > 1_700_000_000_000


async def test_both_sockets_of_a_player_get_everything(world: World) -> None:
    game, first, _ = await at_table(world)
    second_socket = await world.enter(game.seats[0])
    first.frames.clear()

    await world.engine.advance(game)

    for client in (first, second_socket):
        await client.next("YOUR_HAND", sequence=game.sequence)
    assert sequences(first) == [game.sequence]


async def test_a_push_without_a_new_sequence_reaches_its_player(world: World) -> None:
    game, first, _ = await at_table(world)
    hand = msgspec.Raw(frame("YOUR_HAND", game_id=game.id, auto_pass=True))
    push = GamePush(game.sequence, game.sequence, [], {game.seats[0]: [hand]})

    await world.engine.connected.push(GAME_PUSH, game.id, msgspec.json.encode(push))

    assert (await first.next("YOUR_HAND"))["auto_pass"] is True
