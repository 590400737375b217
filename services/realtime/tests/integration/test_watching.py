"""Who may look at a game, and for how long."""

from prometheus_client import REGISTRY

from services.realtime.tests.integration.test_games import at_table, sequences
from services.realtime.tests.integration.world import World, until
from shared import errors
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


async def test_a_player_who_asks_for_his_game_first_cannot_turn_away_from_it_either(
    around: World,
) -> None:
    await around.start_gateway(resync_interval_s=600)
    identity = around.auth.identity()
    client = await around.enter(identity)
    game = around.engine.game(identity.player_id, new_id())  # that nobody announced

    await client.ask("WATCH_GAME", game_id=game.id)
    await client.ask("UNWATCH_GAME", game_id=game.id)
    await around.engine.advance(game)

    await client.next("YOUR_HAND", sequence=game.sequence)
    await client.say("PING")
    assert (await client.next("PONG"))["sequences"] == {str(game.id): game.sequence}


async def test_one_s_own_games_do_not_count_as_watched(around: World) -> None:
    await around.start_gateway(resync_interval_s=600, watched_games=1)
    identity = around.auth.identity()
    client = await around.enter(identity)
    own = [around.engine.game(identity.player_id, new_id()) for _ in range(2)]
    other = around.engine.game(new_id(), new_id())

    replies = [await client.ask("WATCH_GAME", game_id=game.id) for game in (*own, other)]

    assert [reply["type"] for reply in replies] == ["ACTION_ACCEPTED"] * 3


async def test_a_second_watch_that_fails_does_not_forget_the_first(around: World) -> None:
    await around.start_gateway(resync_interval_s=600, watched_games=1, ask_patience_s=0.2)
    game, first, _ = await at_table(around)
    spectator = await around.enter()
    await spectator.ask("WATCH_GAME", game_id=game.id)

    around.engine.fail_views = [errors.GameNotFound()]
    await spectator.ask("WATCH_GAME", game_id=game.id)
    around.engine.fail_views = []
    over_limit = await spectator.ask("WATCH_GAME", game_id=around.engine.game(new_id()).id)
    await around.engine.advance(game)
    await spectator.next("GAME_STATE", sequence=game.sequence)
    await spectator.ask("UNWATCH_GAME", game_id=game.id)
    spectator.frames.clear()
    await around.engine.advance(game)
    await first.next("GAME_STATE", sequence=game.sequence)
    await spectator.settle()

    assert over_limit["code"] == "ERR_RATE_LIMITED"
    assert sequences(spectator) == []


async def test_a_game_is_let_go_with_its_last_socket_whatever_failed_before(
    around: World,
) -> None:
    await around.start_gateway(resync_interval_s=600)
    identity = around.auth.identity()
    game = around.engine.game(identity.player_id, new_id())
    before = watched_games()
    around.engine.fail_views = [errors.PlayerNotInGame()]  # for the first socket

    deaf = await around.enter(identity)
    await deaf.ask("WATCH_GAME", game_id=new_id())
    hearing = await around.enter(identity)
    if not hearing.of("TURN_TIMER"):
        await hearing.next("TURN_TIMER", game_id=game.id)
    assert watched_games() == before + 1
    await deaf.socket.close()
    await hearing.socket.close()

    await until(lambda: watched_games() == before)


def watched_games() -> float:
    return REGISTRY.get_sample_value("samovar_watched_games") or 0
