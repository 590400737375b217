"""Outages: what the platform owes the players whose clock ran while it was away."""

from collections.abc import Sequence

from msgspec import Struct


class Outage(Struct, frozen=True):
    """A time in which no replica worked, in unix milliseconds."""

    from_ms: int
    to_ms: int


class Outages:
    """The outages known so far, oldest first."""

    def __init__(self, known: Sequence[Outage] = ()) -> None:
        self._known = list(known)
        self.last_end_ms = max((outage.to_ms for outage in known), default=0)

    def add(self, outage: Outage) -> None:
        self._known.append(outage)
        self.last_end_ms = max(self.last_end_ms, outage.to_ms)

    def owed_ms(self, updated_ms: int, deadline_ms: int) -> int:
        """Return by how much a deadline is to be put off.

        Args:
            updated_ms: When the game last changed; outages that ended before are paid.
            deadline_ms: The deadline as stored. One that had come before an outage stands.
        """
        owed = 0
        if updated_ms >= self.last_end_ms:
            return owed
        for outage in self._known:
            if outage.to_ms > updated_ms and outage.from_ms < deadline_ms + owed:
                owed += outage.to_ms - max(outage.from_ms, updated_ms)
        return owed
