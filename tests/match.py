"""A staked or friendly match through the public API, and what must be true when it is over."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from samovar.api import Api
from samovar.client import Frame, PlayerClient
from samovar.ledger import verify
from samovar.playing import play
from tests.platform import Platform

GRANT = 1000
PLAY_S = 60


@dataclass
class Match:
    """Players at one table, connected."""

    platform: Platform
    players: list[PlayerClient]
    room: Frame

    @property
    def game_id(self) -> str:
        return str(self.room["game_id"])

    async def play(self, on_move: Callable[[int], Awaitable[None]] | None = None) -> list[Frame]:
        """Play to the end; ``on_move(n)`` is called once at each number of acknowledged moves."""
        watcher = asyncio.create_task(self._watch(on_move)) if on_move else None
        async with asyncio.timeout(PLAY_S):
            results = await asyncio.gather(*(play(p, self.game_id) for p in self.players))
        if watcher is not None:
            await watcher
        return list(results)

    async def _watch(self, on_move: Callable[[int], Awaitable[None]]) -> None:
        told, first = 0, self.players[0]
        while first.games.get(self.game_id) is None or not first.games[self.game_id].finished:
            made = sum(len(player.acknowledged) for player in self.players)
            for number in range(told + 1, made + 1):
                await on_move(number)
            told = max(told, made)
            await asyncio.sleep(0.005)

    async def assert_nothing_lost(self) -> None:
        """Every acknowledged move is an event of the game, and no sequence is missing."""
        events = await all_events(self.players[0].api, self.game_id)
        sequences = [event["sequence"] for event in events]
        assert sequences == list(range(1, len(sequences) + 1))
        reached = set(sequences)
        for player in self.players:
            assert player.acknowledged
            assert {move.sequence for move in player.acknowledged} <= reached

    async def assert_paid(self, bet: int) -> None:
        """Wait for the settlement; nothing is held, the house has its rake, the ledger is right."""
        for player in self.players:
            await until_async(lambda player=player: _is_settled(player), 20)
        balances = [(await player.api.get("/v1/wallet")) for player in self.players]
        rake = len(self.players) * GRANT - sum(b["available"] for b in balances)
        assert all(balance["held"] == 0 for balance in balances)
        assert rake == len(self.players) * bet // 8
        assert await asyncio.to_thread(violations, self.platform) == []


async def _is_settled(player: PlayerClient) -> bool:
    page = await player.api.get("/v1/wallet/transactions")
    held = (await player.api.get("/v1/wallet"))["held"]
    return held == 0 and any(item["reason"] == "bet" for item in page["items"])


def violations(platform: Platform) -> list[Any]:
    return list(verify(platform.infra.database_url("economy")))


async def until_async(condition: Callable[[], Awaitable[bool]], timeout_s: float) -> None:
    async with asyncio.timeout(timeout_s):
        while not await condition():  # noqa: ASYNC110  # the condition lies behind the API
            await asyncio.sleep(0.05)


async def all_events(api: Api, game_id: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    while True:
        after = events[-1]["sequence"] if events else 0
        page = await api.get(f"/v1/games/{game_id}/events", after=after)
        if not page["events"]:
            return events
        events += page["events"]


@asynccontextmanager
async def signed_up(platform: Platform, count: int) -> AsyncIterator[list[Api]]:
    """Registered players, signed in."""
    async with AsyncExitStack() as stack:
        players = []
        for number in range(count):
            api = await stack.enter_async_context(Api(platform.endpoints))
            name = uuid4().hex[:12]
            await api.sign_up(
                f"P{number}{name}", email=f"{name}@example.org", password="correct horse"
            )
            players.append(api)
        yield players


@asynccontextmanager
async def seated(
    platform: Platform, *, players: int = 2, bet: int | None = 100, **terms: Any
) -> AsyncIterator[Match]:
    """Players who signed up, sit in one room whose game has started, and are connected."""
    async with AsyncExitStack() as stack:
        apis = await stack.enter_async_context(signed_up(platform, players))
        clients = [await stack.enter_async_context(PlayerClient(api)) for api in apis]
        body = {"game": "durak", "mode": "throw_in", "players_count": players, "bet": bet, **terms}
        room = await apis[0].post("/v1/rooms", body)
        for api in apis[1:]:
            await api.post(f"/v1/rooms/{room['room_id']}/join")
        match = Match(platform, clients, room)
        for client in clients:
            await client.until(
                lambda client=client: match.game_id in client.games
                and client.games[match.game_id].hand, 20,
            )  # fmt: skip
        yield match
