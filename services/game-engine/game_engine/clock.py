"""PostgreSQL's clock, kept as an offset to this machine's monotonic clock."""

import time
from typing import Final

MEASURE_AGAIN_S: Final = 60.0


class DatabaseClock:
    """One clock for all replicas: unix milliseconds as PostgreSQL would tell them.

    Of the measurements of a minute the one with the shortest round trip is kept.
    """

    def __init__(self) -> None:
        self._offset_s = time.time() - time.monotonic()  # until the first measurement
        self._round_trip_s = float("inf")
        self._measured_at_s = float("-inf")

    def measure(self, database_ms: int, asked_at_s: float, answered_at_s: float) -> None:
        """Take over what PostgreSQL answered between two readings of the monotonic clock."""
        round_trip_s = answered_at_s - asked_at_s
        is_old = answered_at_s - self._measured_at_s > MEASURE_AGAIN_S
        if is_old or round_trip_s <= self._round_trip_s:
            self._offset_s = database_ms / 1000 - (asked_at_s + answered_at_s) / 2
            self._round_trip_s = round_trip_s
            self._measured_at_s = answered_at_s

    def forget(self) -> None:
        """Measure anew: this process may have stood still."""
        self._measured_at_s = float("-inf")

    def now_ms(self) -> int:
        """Return unix time in milliseconds."""
        return int((time.monotonic() + self._offset_s) * 1000)
