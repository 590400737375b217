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
    """Limits of one player, over all his connections here.

    Attributes:
        commands: Messages of the client.
        states: Requests for a whole state among them.
        refusals: Messages over the limit; too many of these close the socket.
    """

    commands: Meter
    states: Meter
    refusals: Meter


@dataclass(slots=True)
class Session:
    """Who a connection speaks for, and what it may still do.

    Attributes:
        bad_frames: Messages with a wrong shape; too many of these close the socket.
        control_frames: Frames that are no messages; the same.
        meters: Those of the player; None until it is known who that is.
        watched: Games the connection watches and does not play in, each with the mark of its watch.
    """

    bad_frames: Meter
    control_frames: Meter
    max_watched: int
    identity: Identity | None = None
    meters: Meters | None = None
    watched: dict[UUID, object] = field(default_factory=dict)

    def judge_command(self, now_s: float) -> Verdict:
        """Count a message against the limit of commands."""
        meters = self.meters
        if meters is None:
            return Verdict.CLOSE
        return Verdict.PASS if meters.commands.allows(now_s) else self._refuse(meters, now_s)

    def judge_state_request(self, now_s: float) -> Verdict:
        """Count a request for a whole state."""
        meters = self.meters
        if meters is None:
            return Verdict.CLOSE
        return Verdict.PASS if meters.states.allows(now_s) else self._refuse(meters, now_s)

    def judge_bad_frame(self, now_s: float) -> Verdict:
        """Count a message with a wrong shape."""
        return Verdict.REFUSE if self.bad_frames.allows(now_s) else Verdict.CLOSE

    def judge_control_frame(self, now_s: float) -> Verdict:
        """Count a frame that is no message."""
        return Verdict.PASS if self.control_frames.allows(now_s) else Verdict.CLOSE

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

    def watch(self, game_id: UUID) -> object:
        """Note that the connection watches a game it does not play in; return the watch's mark.

        Raises:
            RateLimited: over the limit of watched games, or this one is watched already.
        """
        if game_id in self.watched:
            raise RateLimited("This game is being brought already.")
        if len(self.watched) >= self.max_watched:
            raise RateLimited("Too many watched games.")
        mark = self.watched[game_id] = object()
        return mark

    def give_up(self, game_id: UUID, mark: object) -> None:
        """Forget a watch that came to nothing, unless the client has begun another one since."""
        if self.watched.get(game_id) is mark:
            del self.watched[game_id]

    def unwatch(self, game_id: UUID) -> None:
        """Forget a watched game; one that is not watched changes nothing."""
        self.watched.pop(game_id, None)

    @staticmethod
    def _refuse(meters: Meters, now_s: float) -> Verdict:
        return Verdict.REFUSE if meters.refusals.allows(now_s) else Verdict.CLOSE
