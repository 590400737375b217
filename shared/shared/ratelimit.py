"""Rate limits across all replicas, in Valkey (GCRA: one timestamp a key, no windows to reset).

Without Valkey the limit falls back to this process alone: weaker, never absent.
"""

import time
from dataclasses import dataclass

import redis.asyncio as redis
import structlog
from redis.exceptions import RedisError

from shared.errors import RateLimited

log = structlog.get_logger()

# KEYS[1] key; ARGV emission interval (us), burst tolerance (us). Returns 0, or us to wait.
_GCRA = """
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local tat = tonumber(redis.call('GET', KEYS[1]) or now)
if tat < now then tat = now end
local next_tat = tat + tonumber(ARGV[1])
local wait = next_tat - tonumber(ARGV[2]) - now
if wait > 0 then return wait end
redis.call('SET', KEYS[1], next_tat, 'PX', math.ceil((next_tat - now) / 1000) + 1)
return 0
"""


@dataclass(frozen=True, slots=True)
class Limit:
    """``count`` actions per ``period_s`` seconds, of which ``burst`` may come at once."""

    name: str
    count: int
    period_s: float
    burst: int

    @property
    def interval_s(self) -> float:
        return self.period_s / self.count


class Bucket:
    """One limited subject in this process (a socket, or the fallback); not shared."""

    __slots__ = ("_interval_s", "_tat", "_tolerance_s")

    def __init__(self, limit: Limit) -> None:
        self._interval_s = limit.interval_s
        self._tolerance_s = limit.interval_s * limit.burst
        self._tat = 0.0

    def allows(self, now_s: float) -> bool:
        """Count one action at a monotonic time; False (and not counted) if it is too many."""
        tat = max(self._tat, now_s) + self._interval_s
        if tat - self._tolerance_s > now_s:
            return False
        self._tat = tat
        return True


class RateLimiter:
    """Checks limits shared by all replicas."""

    MAX_LOCAL = 10_000

    def __init__(self, client: "redis.Redis") -> None:
        self._script = client.register_script(_GCRA)
        self._local: dict[str, Bucket] = {}

    async def check(self, limit: Limit, subject: object) -> None:
        """Count one action of a subject (a player id, an address).

        Raises:
            RateLimited: with ``retry_after_s``; the action is not counted then.
        """
        key = f"limit:{limit.name}:{subject}"
        interval_us = int(limit.interval_s * 1e6)
        try:
            wait_us = int(
                await self._script(keys=[key], args=[interval_us, interval_us * limit.burst])
            )
        except (RedisError, OSError) as error:
            log.warning("rate limit falls back to this process", error=type(error).__name__)
            wait_us = 0 if self._allows_locally(key, limit) else interval_us
        if wait_us > 0:
            raise RateLimited(retry_after_s=round(wait_us / 1e6, 3))

    def _allows_locally(self, key: str, limit: Limit) -> bool:
        if len(self._local) >= self.MAX_LOCAL:
            self._local.clear()
        bucket = self._local.setdefault(key, Bucket(limit))
        return bucket.allows(time.monotonic())
