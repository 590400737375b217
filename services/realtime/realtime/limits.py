"""The limits of one socket and of one player, as the settings have them."""

from uuid import UUID

from realtime.domain.session import Meters, Session
from realtime.settings import Settings
from shared.ratelimit import Bucket, Limit

# Longer than any of a player's meters needs to be as good as new.
AFTERLIFE_S = 60.0
# Over HTTP somebody may page through a whole history.
STATES_BURST_S = 10


def commands_limit(settings: Settings) -> Limit:
    """Return the limit of a player's commands."""
    burst = settings.commands_burst
    return Limit("commands", burst, burst / settings.commands_per_s, burst)


def states_limit(settings: Settings, burst_s: float = 1) -> Limit:
    """Return the limit of a player's requests for whole states; so many seconds' worth at once."""
    per_s = settings.state_requests_per_s
    return Limit("states", 1, 1 / per_s, max(1, round(per_s * burst_s)))


def new_session(settings: Settings) -> Session:
    """Make the session of a socket nobody has authenticated yet."""
    return Session(
        bad_frames=_per_minute("bad frames", settings.bad_frames_per_minute),
        control_frames=_per_minute("control frames", settings.control_frames_per_minute),
        max_watched=settings.watched_games,
    )


class PlayerMeters:
    """The meters of the players here.

    They outlive a player's last socket for a while: coming back is not a fresh start.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._resting: dict[UUID, tuple[Meters, float]] = {}  # by the time they end

    def take(self, player_id: UUID, now_s: float) -> Meters:
        """Return the meters of a player who was not here, at a monotonic time."""
        self._forget_old(now_s)
        found = self._resting.pop(player_id, None)
        return found[0] if found is not None else self._new()

    def rest(self, player_id: UUID, meters: Meters, now_s: float) -> None:
        """Keep the meters of a player who left."""
        self._forget_old(now_s)
        self._resting[player_id] = meters, now_s + AFTERLIFE_S

    def __len__(self) -> int:
        return len(self._resting)

    def _new(self) -> Meters:
        return Meters(
            commands=Bucket(commands_limit(self._settings)),
            states=Bucket(states_limit(self._settings)),
            refusals=_per_minute("refusals", self._settings.refusals_per_minute),
        )

    def _forget_old(self, now_s: float) -> None:
        while self._resting:
            player_id, (_, until_s) = next(iter(self._resting.items()))
            if until_s > now_s:
                return
            del self._resting[player_id]


def _per_minute(name: str, count: int) -> Bucket:
    return Bucket(Limit(name, count, 60, max(1, count - 1)))
