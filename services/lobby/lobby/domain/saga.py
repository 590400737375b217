"""The recovery brain: what a room needs next, from what is stored and what others answered.

The normal path and the sweeper ask the same question, so a crash at any line is followed by the
step that would have come next. ``row`` names the row of the crash table (design: economy §4) that
a step repairs when the sweeper takes it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from lobby.domain.room import Room, RoomStatus, Seat, SeatState
from shared.errors import HoldFailed


class Answer(StrEnum):
    """What another service said about a step; UNKNOWN: it was not asked, or did not answer."""

    UNKNOWN = "unknown"
    DONE = "done"
    REFUSED = "refused"


class GameFact(StrEnum):
    """The game as the engine knows it."""

    MISSING = "missing"
    RUNNING = "running"
    FINISHED = "finished"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True)
class Facts:
    """Answers collected so far; they only ever grow.

    Attributes:
        hold_id: The seat in focus, by its hold; None asks about the room as a whole.
        hold_code: Error code of a refused hold.
        create: REFUSED when the engine will never create this game.
        game: None when the engine was not asked or did not answer.
        is_settled: None when economy was not asked or did not answer.
    """

    hold_id: UUID | None = None
    hold: Answer = Answer.UNKNOWN
    hold_code: str = HoldFailed.code
    capture: Answer = Answer.UNKNOWN
    create: Answer = Answer.UNKNOWN
    game: GameFact | None = None
    is_settled: bool | None = None


class Do(StrEnum):
    REST = "rest"
    # Calls: the answer becomes a fact.
    PLACE_HOLD = "place_hold"
    CAPTURE_HOLDS = "capture_holds"
    CREATE_GAME = "create_game"
    ABANDON_GAME = "abandon_game"
    GET_GAME = "get_game"
    GET_SETTLEMENT = "get_settlement"
    # Changes of the room, each in one transaction.
    TAKE_SEAT = "take_seat"
    DROP_SEAT = "drop_seat"
    CANCEL = "cancel"
    MARK_CAPTURED = "mark_captured"
    PLAY = "play"
    FINISH = "finish"
    MARK_SETTLED = "mark_settled"


CALLS = frozenset(
    {
        Do.PLACE_HOLD, Do.CAPTURE_HOLDS, Do.CREATE_GAME, Do.ABANDON_GAME, Do.GET_GAME,
        Do.GET_SETTLEMENT,
    }
)  # fmt: skip
CHANGES = frozenset(Do) - CALLS - {Do.REST}


@dataclass(frozen=True, slots=True)
class Step:
    """What to do now. ``seat`` and ``code`` belong to steps about one seat."""

    do: Do
    row: str = ""
    seat: Seat | None = None
    code: str = ""


REST = Step(Do.REST)


def next_step(room: Room, facts: Facts, now: datetime, create_timeout: timedelta) -> Step:
    """Return the next step of a room; REST when it waits for somebody else or is done.

    Args:
        room: The room as it is stored.
        facts: What other services answered.
        now: The database's time.
        create_timeout: After so long in STARTING the game is abandoned instead of created.
    """
    match room.status:
        case RoomStatus.WAITING:
            return _waiting(room, facts, now)
        case RoomStatus.STARTING:
            return _starting(room, facts, now, create_timeout)
        case RoomStatus.PLAYING:
            return _playing(facts)
        case RoomStatus.FINISHED | RoomStatus.CANCELLED:
            return _over(room, facts)


def _waiting(room: Room, facts: Facts, now: datetime) -> Step:
    if room.expires_at <= now:
        return Step(Do.CANCEL, "L2")
    seat = room.seat_of_hold(facts.hold_id)
    if seat is None or seat.hold is None or seat.state is SeatState.TAKEN:
        return REST
    match facts.hold:
        case Answer.DONE:
            return Step(Do.TAKE_SEAT, "J3", seat)
        case Answer.REFUSED:
            return Step(Do.DROP_SEAT, "J2", seat, facts.hold_code)
        case Answer.UNKNOWN:
            if now < seat.hold.deadline_at:
                return Step(Do.PLACE_HOLD, seat=seat)
            return Step(Do.DROP_SEAT, "J2", seat, HoldFailed.code)


def _starting(room: Room, facts: Facts, now: datetime, create_timeout: timedelta) -> Step:
    if room.terms.bet is not None and room.captured_at is None:
        match facts.capture:
            case Answer.DONE:
                return Step(Do.MARK_CAPTURED, "S1")
            case Answer.REFUSED:
                return Step(Do.CANCEL, "S2")
            case Answer.UNKNOWN:
                return Step(Do.CAPTURE_HOLDS)
    match facts.game:
        case GameFact.RUNNING | GameFact.FINISHED:
            return Step(Do.PLAY, "S3")
        case GameFact.ABANDONED:
            return Step(Do.CANCEL, "S4")
        case _:
            # From the capture on, not before: economy's absence is not the engine's.
            since = room.captured_at or room.starting_at or room.created_at
            is_late = now >= since + create_timeout
            if is_late or facts.create is Answer.REFUSED:
                return Step(Do.ABANDON_GAME)
            return Step(Do.CREATE_GAME)


def _playing(facts: Facts) -> Step:
    match facts.game:
        case None:
            return Step(Do.GET_GAME)
        case GameFact.MISSING:
            return Step(Do.ABANDON_GAME)
        case GameFact.RUNNING:
            return REST
        case GameFact.ABANDONED:
            return Step(Do.FINISH, "G4")
        case GameFact.FINISHED:
            return Step(Do.FINISH, "F5")


def _over(room: Room, facts: Facts) -> Step:
    if room.captured_at is None or room.settled_at is not None:
        return REST
    match facts.is_settled:
        case None:
            return Step(Do.GET_SETTLEMENT)
        case False:
            return REST
        case True:
            return Step(Do.MARK_SETTLED, "F5")
