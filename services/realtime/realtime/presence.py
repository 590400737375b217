"""Who is connected to any gateway: Valkey, forgotten after 30 s of silence.

``presence:<player>`` is a sorted set of gateways, each with the moment its word expires. Valkey may
lose it all at any time; a player of whom nothing is known counts as connected if that cannot be
asked, and as away if the answer is no.
"""

import asyncio
import time
from collections.abc import Iterable
from uuid import UUID

import msgspec
import redis.asyncio as redis
import structlog
from redis.exceptions import RedisError

from realtime.feeds import Feeds
from realtime.hub import Hub
from shared.bus import Bus
from shared.contracts.realtime import PRESENCE_PUSH, PresenceChanged

CHUNK = 500
# How long the first view of a game waits to learn who is there; later it is told anyway.
ABSENT_WAIT_S = 0.1
BOT_UUID_VERSION = 5  # shared.ids.bot_id; people have uuid7

log = structlog.get_logger()


class Presence:
    """This gateway's word on where its players are, and what it reads of the others'."""

    def __init__(
        self, client: "redis.Redis", bus: Bus, hub: Hub, gateway_id: str, ttl_s: float
    ) -> None:
        self._client = client
        self._bus = bus
        self._hub = hub
        self._gateway_id = gateway_id
        self._ttl_s = ttl_s
        self._changed: dict[UUID, set[UUID]] = {}  # player -> games whose players are to be told
        self._wake = asyncio.Event()

    def changed(self, player_id: UUID, game_ids: Iterable[UUID]) -> None:
        """Note that a player came or went; what is told is what is true a moment later."""
        self._changed.setdefault(player_id, set()).update(game_ids)
        self._wake.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Write changes and tell those who play with the players; one batch at a time, in order."""
        stopped = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                woken = asyncio.create_task(self._wake.wait())
                await asyncio.wait({woken, stopped}, return_when=asyncio.FIRST_COMPLETED)
                woken.cancel()
                self._wake.clear()
                await self._tell()
        finally:
            stopped.cancel()

    async def refresh(self) -> None:
        """Repeat that the players of this gateway are here."""
        players = list(self._hub.players)
        for start in range(0, len(players), CHUNK):
            await self._write(players[start : start + CHUNK], [])

    async def recheck(self, feeds: Feeds) -> None:
        """Look again where the players of the watched games are: a gateway may have died."""
        watched = feeds.all()
        elsewhere = {p for feed in watched for p in feed.seats if self._must_ask(p)}
        absent = await self._ask(list(elsewhere))
        if absent is None:
            return
        for feed in watched:
            for player_id in feed.seats:
                feed.set_presence(player_id, player_id not in absent)

    async def absent(self, player_ids: list[UUID]) -> set[UUID]:
        """Return those who are connected nowhere; nobody, if Valkey does not answer at once."""
        asked = [player_id for player_id in player_ids if self._must_ask(player_id)]
        if not asked:
            return set()
        try:
            async with asyncio.timeout(ABSENT_WAIT_S):
                return await self._ask(asked) or set()
        except TimeoutError:
            log.warning("presence is not read in time")
            return set()

    async def _ask(self, asked: list[UUID]) -> set[UUID] | None:
        absent: set[UUID] = set()
        try:
            for start in range(0, len(asked), CHUNK):
                chunk = asked[start : start + CHUNK]
                async with self._client.pipeline(transaction=False) as pipe:
                    for player_id in chunk:
                        pipe.execute_command("EXISTS", _key(player_id))
                    found = await pipe.execute()
                absent.update(p for p, exists in zip(chunk, found, strict=True) if not exists)
        except (RedisError, OSError) as error:
            log.warning("presence cannot be read", error=type(error).__name__)
            return None
        return {player_id for player_id in absent if not self._hub.is_connected(player_id)}

    async def _tell(self) -> None:
        changed, self._changed = self._changed, {}
        if not changed:
            return
        here = [player_id for player_id in changed if self._hub.is_connected(player_id)]
        gone = [player_id for player_id in changed if not self._hub.is_connected(player_id)]
        away = set(await self._write(here, gone))
        for player_id, game_ids in changed.items():
            is_here = self._hub.is_connected(player_id)
            if not is_here and player_id not in away:
                continue  # connected elsewhere
            news = msgspec.json.encode(PresenceChanged(player_id, is_here))
            for game_id in game_ids:
                await self._bus.push(PRESENCE_PUSH, game_id, news)

    async def _write(self, here: list[UUID], gone: list[UUID]) -> list[UUID]:
        """Store who is here and who is not any more; return those who are now nowhere."""
        now = time.time()
        try:
            async with self._client.pipeline(transaction=True) as pipe:
                for key in map(_key, here):
                    pipe.execute_command("ZADD", key, now + self._ttl_s, self._gateway_id)
                    pipe.execute_command("PEXPIRE", key, int(self._ttl_s * 1000))
                for key in map(_key, gone):
                    pipe.execute_command("ZREM", key, self._gateway_id)
                    pipe.execute_command("ZREMRANGEBYSCORE", key, "-inf", now)
                    pipe.execute_command("ZCARD", key)
                results = await pipe.execute()
        except (RedisError, OSError) as error:
            log.warning("presence cannot be written", error=type(error).__name__)
            return gone  # as far as is known here
        left = results[2 * len(here) + 2 :: 3]
        return [player_id for player_id, count in zip(gone, left, strict=True) if not count]

    def _must_ask(self, player_id: UUID) -> bool:
        return player_id.version != BOT_UUID_VERSION and not self._hub.is_connected(player_id)


def _key(player_id: UUID) -> str:
    return f"presence:{player_id}"
