"""Who may look at a game, and for how long."""

from services.realtime.tests.integration.test_games import at_table, sequences
from services.realtime.tests.integration.world import World
from shared.ids import new_id


async def test_the_state_can_be_asked_for_by_a_player_and_a_spectator_only(world: World) -> None:
    game, first, _ = await at_table(world)
    stranger = await world.enter()

    refused = await stranger.ask("GET_GAME_STATE", game_id=game.id)
    await stranger.ask("WATCH_GAME", game_id=game.id)
    stranger.frames.clear()
    allowed = await stranger.ask("GET_GAME_STATE", game_id=game.id)
    own = await first.ask("GET_GAME_STATE", game_id=game.id)

    assert (refused["type"], refused["code"]) == ("ACTION_REJECTED", "ERR_PLAYER_NOT_IN_GAME")
    assert allowed["sequence"] == own["sequence"] == game.sequence
    assert [f["type"] for f in stranger.frames[:-1]] == ["GAME_STATE", "TURN_TIMER"]
    assert [f["type"] for f in first.frames[:-1]] == ["GAME_STATE", "YOUR_HAND", "TURN_TIMER"]


async def test_the_state_of_a_game_that_is_over_can_be_asked_for_by_its_players(
    world: World,
) -> None:
    identity = world.auth.identity()
    game = world.engine.game(identity.player_id, new_id())
    await world.engine.finish(game)
    client = await world.enter(identity)

    reply = await client.ask("GET_GAME_STATE", game_id=game.id)

    assert reply["type"] == "ACTION_ACCEPTED"
    assert client.of("GAME_STATE")
    assert (await client.ask("GET_GAME_STATE", game_id=new_id()))["code"] == "ERR_GAME_NOT_FOUND"


async def test_a_private_game_is_watched_by_nobody_from_outside(world: World) -> None:
    game, _, _ = await at_table(world, is_private=True)
    stranger = await world.enter()

    reply = await stranger.ask("WATCH_GAME", game_id=game.id)
    await world.engine.advance(game)
    await stranger.settle()

    assert (reply["type"], reply["code"]) == ("ACTION_REJECTED", "ERR_PLAYER_NOT_IN_GAME")
    assert stranger.of("GAME_STATE") == []


async def test_a_spectator_who_turns_away_gets_no_more(world: World) -> None:
    game, first, _ = await at_table(world)
    spectator = await world.enter()
    await spectator.ask("WATCH_GAME", game_id=game.id)
    await spectator.ask("UNWATCH_GAME", game_id=game.id)
    spectator.frames.clear()

    await world.engine.advance(game)
    await first.next("GAME_STATE", sequence=game.sequence)
    await spectator.settle()

    assert sequences(spectator) == []


async def test_a_player_cannot_turn_away_from_his_own_game(world: World) -> None:
    game, first, _ = await at_table(world)

    await first.ask("WATCH_GAME", game_id=game.id)
    await first.ask("UNWATCH_GAME", game_id=game.id)
    await world.engine.advance(game)

    await first.next("GAME_STATE", sequence=game.sequence)
