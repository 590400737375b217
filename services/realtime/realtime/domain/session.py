"""One connection as far as it can be judged without its socket: who, until when, how much."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import Protocol
from uuid import UUID

from shared.contracts.auth import Identity
from shared.errors import Forbidden, RateLimited


class Meter(Protocol):
    """Counts events; a leaky bucket of one subject."""

    def allows(self, now_s: float) -> bool:
        """Count one event at a monotonic time; False if it is one too many."""
        ...


class Verdict(Enum):
    PASS = auto()
    REFUSE = auto()  # tell the client, drop the message
    CLOSE = auto()  # it goes on and on


@dataclass(slots=True)
class Meters:
    """Limits of one connection.

    Attributes:
        commands: Messages of the client.
        states: Requests for a whole state among them.
        refusals: Messages over the limit; too many of these close the socket.
        bad_frames: Messages with a wrong shape; the same.
    """

    commands: Meter
    states: Meter
    refusals: Meter
    bad_frames: Meter


@dataclass(slots=True)
class Session:
    """Who a connection speaks for, and what it may still do."""

    meters: Meters
    max_watched: int
    identity: Identity | None = None
    watched: set[UUID] = field(default_factory=set)

    def judge_command(self, now_s: float) -> Verdict:
        """Count a message against the limit of commands."""
        if self.meters.commands.allows(now_s):
            return Verdict.PASS
        return self._refuse(now_s)

    def judge_state_request(self, now_s: float) -> Verdict:
        """Count a request for a whole state."""
        return Verdict.PASS if self.meters.states.allows(now_s) else self._refuse(now_s)

    def judge_bad_frame(self, now_s: float) -> Verdict:
        """Count a message with a wrong shape."""
        return Verdict.REFUSE if self.meters.bad_frames.allows(now_s) else Verdict.CLOSE

    def authenticate(self, identity: Identity) -> None:
        """Take an identity, or a later one of the same player, which extends the session.

        Raises:
            Forbidden: if the connection speaks for another player already.
        """
        if self.identity is not None and self.identity.player_id != identity.player_id:
            raise Forbidden("This connection speaks for another player.")
        self.identity = identity

    def seconds_left(self, now: datetime) -> float:
        """Return how long the identity is still good; 0 without one."""
        if self.identity is None:
            return 0.0
        return max(0.0, (self.identity.expires_at - now).total_seconds())

    def watch(self, game_id: UUID) -> None:
        """Note that the connection watches a game it does not play in.

        Raises:
            RateLimited: over the limit of watched games.
        """
        if game_id not in self.watched and len(self.watched) >= self.max_watched:
            raise RateLimited("Too many watched games.")
        self.watched.add(game_id)

    def unwatch(self, game_id: UUID) -> None:
        """Forget a watched game; one that is not watched changes nothing."""
        self.watched.discard(game_id)

    def _refuse(self, now_s: float) -> Verdict:
        return Verdict.REFUSE if self.meters.refusals.allows(now_s) else Verdict.CLOSE
