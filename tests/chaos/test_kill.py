"""Kill -9 of any part in the middle of a match: after its restart the match goes on.

No acknowledged move is lost, no coin is off.
"""

import asyncio

import pytest

from samovar.client import PlayerClient
from samovar.playing import play
from tests.match import all_events, seated, signed_up, violations

pytestmark = pytest.mark.chaos

KILL_AT_MOVE = 8


class Killer:
    """Kills and restarts parts once, at a move in mid-game.

    Attributes:
        has_struck: The match got that far.
    """

    def __init__(self, platform, *names):
        self.children = [platform.child(name) for name in names]
        self.has_struck = False

    async def __call__(self, number):
        if number == KILL_AT_MOVE:
            for child in self.children:
                await asyncio.to_thread(child.kill)
            for child in self.children:
                await asyncio.to_thread(child.start)
            self.has_struck = True


@pytest.mark.parametrize(
    "name", ["auth", "lobby", "economy", "game_engine", "realtime", "nats", "postgres", "valkey"]
)
async def test_a_staked_match_survives_the_kill_of(platform, name):
    async with seated(platform) as match:
        killer = Killer(platform, name)
        await match.play(killer)

        assert killer.has_struck
        await match.assert_nothing_lost()
        await match.assert_paid(100)


async def test_a_staked_match_survives_the_kill_of_everything(platform):
    names = ["nats", "postgres", "valkey", *platform.services]
    async with seated(platform) as match:
        killer = Killer(platform, *names)
        await match.play(killer)

        assert killer.has_struck
        await match.assert_nothing_lost()
        await match.assert_paid(100)


async def test_a_game_against_a_bot_survives_the_kill_of_the_bot_service(platform):
    async with signed_up(platform, 1) as [api], PlayerClient(api) as client:
        room = await api.post(
            "/v1/rooms", {"game": "durak", "mode": "throw_in", "players_count": 2, "bet": None}
        )
        await api.post(f"/v1/rooms/{room['room_id']}/add-bot")
        await client.until(lambda: room["game_id"] in client.games, 15)
        playing = asyncio.create_task(play(client, room["game_id"]))
        await client.until(lambda: len(client.acknowledged) >= 4, 20)

        await asyncio.to_thread(platform.child("bot").kill)
        await asyncio.to_thread(platform.child("bot").start)

        finished = await asyncio.wait_for(playing, 60)
        assert finished["result"]["finish_kind"] == "normal"
        events = await all_events(api, room["game_id"])
        assert {move.sequence for move in client.acknowledged} <= {e["sequence"] for e in events}


@pytest.mark.parametrize("name", ["lobby", "economy", "game_engine"])
async def test_a_start_survives_the_kill_of(platform, name):
    async with signed_up(platform, 2) as [maker, joiner], PlayerClient(maker) as client:
        room = await maker.post(
            "/v1/rooms", {"game": "durak", "mode": "throw_in", "players_count": 2, "bet": 100}
        )
        joining = asyncio.create_task(joiner.post(f"/v1/rooms/{room['room_id']}/join"))
        await asyncio.to_thread(platform.child(name).kill)
        await asyncio.to_thread(platform.child(name).start)
        await joining

        await client.until(lambda: room["game_id"] in client.games, 30)
        assert (await maker.get("/v1/wallet"))["held"] == 100
        assert (await joiner.get("/v1/wallet"))["held"] == 100
        assert await asyncio.to_thread(violations, platform) == []
