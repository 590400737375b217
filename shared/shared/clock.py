"""The clock port: services read time only through it, tests move it by hand."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Return unix time in milliseconds."""
        ...


class SystemClock:
    """This machine's clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


class ManualClock:
    """A clock for tests: stands still until it is moved."""

    def __init__(self, now_ms: int = 1_800_000_000_000) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def advance(self, seconds: float) -> None:
        self._now_ms += round(seconds * 1000)


def from_ms(now_ms: int) -> datetime:
    """Convert unix milliseconds to an aware UTC datetime, exactly."""
    seconds, milliseconds = divmod(now_ms, 1000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=milliseconds * 1000)


def to_ms(moment: datetime) -> int:
    """Convert an aware datetime to unix milliseconds (rounded down)."""
    return int(moment.timestamp()) * 1000 + moment.microsecond // 1000
