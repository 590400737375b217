"""Games over the REST facade."""

import pytest

from services.realtime.tests.integration.test_games import at_table
from services.realtime.tests.integration.world import World
from shared.ids import new_id


async def test_a_game_is_shown_as_the_caller_may_see_it(world: World) -> None:
    game, _, _ = await at_table(world)
    player = world.auth.identity(game.seats[0])

    async with world.rest(player) as rest, world.rest(world.auth.identity()) as outsider:
        own = (await rest.get(f"/v1/games/{game.id}")).json()
        public = (await outsider.get(f"/v1/games/{game.id}")).json()
        mine = (await rest.get("/v1/me/games")).json()
        unknown = await rest.get(f"/v1/games/{new_id()}")

    assert [f["type"] for f in own["frames"]] == ["GAME_STATE", "YOUR_HAND", "TURN_TIMER"]
    assert [f["type"] for f in public["frames"]] == ["GAME_STATE", "TURN_TIMER"]
    assert own["sequence"] == game.sequence
    assert mine == {"game_ids": [str(game.id)]}
    assert (unknown.status_code, unknown.json()["code"]) == (404, "ERR_GAME_NOT_FOUND")


async def test_a_private_game_and_its_events_are_for_its_players(world: World) -> None:
    game, _, _ = await at_table(world, is_private=True)
    player = world.auth.identity(game.seats[0])

    async with world.rest(player) as rest, world.rest(world.auth.identity()) as outsider:
        allowed = [await rest.get(f"/v1/games/{game.id}{tail}") for tail in ("", "/events?after=2")]
        refused = [await outsider.get(f"/v1/games/{game.id}{tail}") for tail in ("", "/events")]

    assert [reply.status_code for reply in allowed] == [200, 200]
    assert {reply.json()["code"] for reply in refused} == {"ERR_PLAYER_NOT_IN_GAME"}
    asked = world.engine.calls[0]
    assert (asked.after, asked.player_id) == (2, player.player_id)


async def test_a_command_over_http_is_the_same_command(world: World) -> None:
    game, first, _ = await at_table(world)
    player = world.auth.identity(game.seats[0])
    body = {
        "version": 1, "request_id": str(new_id()), "type": "TAKE", "sequence": game.sequence,
        "payload": {}, "player_id": str(game.seats[1]),
    }  # fmt: skip
    path = f"/v1/games/{game.id}/commands"

    async with world.rest(player) as rest:
        accepted = await rest.post(path, json=body)
        again = await rest.post(path, json=body)
        stale = await rest.post(path, json={**body, "request_id": str(new_id())})
        wrong = [
            await rest.post(path, content=content)
            for content in (b"{", b"x" * 17_000, b'{"version":1,"type":"PING"}')
        ]
        version = await rest.post(path, json={**body, "version": 2})

    assert accepted.json() == again.json() == {
        "type": "ACTION_ACCEPTED", "version": 1, "request_id": body["request_id"],
        "game_id": str(game.id), "sequence": game.sequence,
    }  # fmt: skip
    assert (stale.status_code, stale.json()["code"]) == (409, "ERR_STALE_STATE")
    assert stale.json()["details"] == {"sequence": game.sequence}
    assert {reply.json()["code"] for reply in wrong} == {"ERR_INVALID_REQUEST"}
    assert version.json()["code"] == "ERR_PROTOCOL_VERSION"
    assert {act.player_id for act in world.engine.acts} == {game.seats[0]}
    await first.next("GAME_STATE", sequence=game.sequence)


async def test_states_and_histories_have_one_common_limit(around: World) -> None:
    await around.start_gateway(state_requests_per_s=0.2)
    game = around.engine.game(new_id(), new_id())

    async with (
        around.rest(around.auth.identity()) as rest,
        around.rest(around.auth.identity()) as other,
    ):
        replies = [
            await rest.get(f"/v1/games/{game.id}{tail}") for tail in ("", "/events", "", "/events")
        ]
        unlimited = await other.get(f"/v1/games/{game.id}")

    assert [reply.status_code for reply in replies] == [200, 200, 429, 429]
    assert replies[-1].json()["code"] == "ERR_RATE_LIMITED"
    assert unlimited.status_code == 200


@pytest.mark.parametrize("is_watched", [True, False])
async def test_a_state_over_http_tells_who_is_connected(world: World, is_watched: bool) -> None:
    identity = world.auth.identity()
    game = world.engine.game(identity.player_id, new_id())
    if is_watched:
        client = await world.enter(identity)
        if not client.of("TURN_TIMER"):
            await client.next("TURN_TIMER")

    async with world.rest(identity) as rest:
        state = (await rest.get(f"/v1/games/{game.id}")).json()["frames"][0]

    assert [player["connected"] for player in state["players"]] == [is_watched, False]
