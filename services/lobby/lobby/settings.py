"""Settings of the lobby (environment, prefix ``SAMOVAR_``)."""

from dataclasses import dataclass
from datetime import timedelta

from lobby.journal import Patience
from shared.settings import ServiceSettings


@dataclass(frozen=True, slots=True)
class Limits:
    """The times and numbers that use cases decide by."""

    room_ttl: timedelta
    hold_deadline: timedelta
    hold_ttl: timedelta
    create_timeout: timedelta
    waiting_rooms: int
    payout_config_version: int


class Settings(ServiceSettings):
    room_ttl_s: float = 1800.0  # a room that still waits then is cancelled
    hold_deadline_s: float = 5.0  # a stake whose outcome is unknown is asked for so long
    hold_attempt_s: float = 1.5  # patience of one such question
    call_attempt_s: float = 3.0  # patience of any other question about a room
    hold_ttl_s: float = 120.0  # then economy asks whether the seat still needs the hold
    create_timeout_s: float = 60.0  # a game that could not be created by then is abandoned
    stuck_after_s: float = 3.0  # reserved seats and starting rooms: then the sweeper takes over
    play_check_s: float = 60.0  # how often the engine is asked about a running game
    settle_check_s: float = 30.0  # how often economy is asked about unsettled stakes
    max_waiting_rooms: int = 3  # in which one player may sit
    payout_config_version: int = 1  # economy's payout table of new rooms; a room keeps its own

    @property
    def limits(self) -> Limits:
        return Limits(
            room_ttl=timedelta(seconds=self.room_ttl_s),
            hold_deadline=timedelta(seconds=self.hold_deadline_s),
            hold_ttl=timedelta(seconds=self.hold_ttl_s),
            create_timeout=timedelta(seconds=self.create_timeout_s),
            waiting_rooms=self.max_waiting_rooms,
            payout_config_version=self.payout_config_version,
        )

    @property
    def patience(self) -> Patience:
        return Patience(
            stuck=timedelta(seconds=self.stuck_after_s),
            playing=timedelta(seconds=self.play_check_s),
            unsettled=timedelta(seconds=self.settle_check_s),
        )
