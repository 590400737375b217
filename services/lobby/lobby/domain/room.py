"""A room and its seats: states, transitions, and who may do what in which state (spec §19)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from uuid import UUID

from lobby.domain.terms import Terms
from shared.errors import (
    AlreadyJoined,
    Forbidden,
    InvalidBet,
    InvariantBrokenError,
    RateLimited,
    RoomFull,
    RoomNotFound,
    RoomStarted,
    assert_invariant,
)
from shared.ids import GameId, HoldId, PlayerId, RoomId


class RoomStatus(StrEnum):
    WAITING = "waiting"
    STARTING = "starting"
    PLAYING = "playing"
    FINISHED = "finished"
    CANCELLED = "cancelled"


class RoomChange(StrEnum):
    START = "start"
    PLAY = "play"
    FINISH = "finish"
    CANCEL = "cancel"


class SeatState(StrEnum):
    RESERVED = "reserved"  # the outcome of the hold is not known yet
    TAKEN = "taken"


class Kind(StrEnum):
    REGISTERED = "registered"
    GUEST = "guest"
    BOT = "bot"


ALLOWED: Mapping[tuple[RoomStatus, RoomChange], RoomStatus] = MappingProxyType(
    {
        (RoomStatus.WAITING, RoomChange.START): RoomStatus.STARTING,
        (RoomStatus.STARTING, RoomChange.PLAY): RoomStatus.PLAYING,
        (RoomStatus.PLAYING, RoomChange.FINISH): RoomStatus.FINISHED,
        (RoomStatus.WAITING, RoomChange.CANCEL): RoomStatus.CANCELLED,
        (RoomStatus.STARTING, RoomChange.CANCEL): RoomStatus.CANCELLED,
    }
)


@dataclass(frozen=True, slots=True)
class Hold:
    """A stake asked of economy: repeated until ``deadline_at``, then given up.

    ``expires_at`` is when economy begins to ask whether the seat still needs it.
    """

    hold_id: HoldId
    deadline_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Player:
    player_id: PlayerId
    nickname: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Seat:
    """``request_id`` is the player's request that took it (for a bot: its asker's)."""

    number: int
    player: Player
    state: SeatState
    request_id: UUID
    hold: Hold | None


@dataclass(frozen=True, slots=True)
class Room:
    """One consistent picture of a room; ``seats`` in the order of their numbers.

    ``captured_at``: the stakes were captured (the pivot is passed), friendly rooms never.
    ``payout_config_version``: economy's payout table; fixed here, so that a capture is repeated
    word for word whatever the settings say by then.
    """

    room_id: RoomId
    game_id: GameId
    terms: Terms
    join_code: str | None
    payout_config_version: int
    status: RoomStatus
    seats: tuple[Seat, ...]
    created_at: datetime
    expires_at: datetime
    starting_at: datetime | None
    captured_at: datetime | None
    settled_at: datetime | None
    version: int

    @property
    def stake(self) -> int:
        """The bet of a room that has one."""
        if self.terms.bet is None:
            raise InvariantBrokenError("a friendly room has no stake")
        return self.terms.bet

    @property
    def is_listed(self) -> bool:
        """Whether the public list shows it."""
        return self.status is RoomStatus.WAITING and not self.terms.is_private

    @property
    def is_full(self) -> bool:
        return len(self.seats) == self.terms.players_count

    @property
    def may_start(self) -> bool:
        return self.is_full and all(seat.state is SeatState.TAKEN for seat in self.seats)

    @property
    def has_humans(self) -> bool:
        return any(seat.player.kind is not Kind.BOT for seat in self.seats)

    def seat_of(self, player_id: UUID | None) -> Seat | None:
        return next((seat for seat in self.seats if seat.player.player_id == player_id), None)

    def seat_of_hold(self, hold_id: UUID | None) -> Seat | None:
        """Return the seat that rests on a hold."""
        found = (seat for seat in self.seats if seat.hold and seat.hold.hold_id == hold_id)
        return next(found, None)


def next_status(status: RoomStatus, change: RoomChange) -> RoomStatus:
    """Return the status after a change that must be possible."""
    assert_invariant((status, change) in ALLOWED, f"a {status} room cannot {change}")
    return ALLOWED[status, change]


def check_visible(room: Room | None, player_id: UUID | None) -> Room:
    """Return the room if this player may know of it.

    Raises:
        RoomNotFound: no such room, or a private one in which he does not sit.
    """
    if room is None or (room.terms.is_private and room.seat_of(player_id) is None):
        raise RoomNotFound
    return room


def check_join(room: Room, player: Player, waiting_rooms: int, now: datetime, limit: int) -> int:
    """Return the number of the seat that the player gets: the lowest free one.

    Args:
        room: The room under its lock.
        player: Who wants to sit down.
        waiting_rooms: In how many waiting rooms he sits.
        now: The database's time.
        limit: How many waiting rooms a player may sit in; bots may in any number.

    Raises:
        AlreadyJoined, RoomStarted, RoomNotFound, Forbidden, RoomFull, RateLimited
    """
    if room.seat_of(player.player_id) is not None:
        raise AlreadyJoined
    if room.status is not RoomStatus.WAITING:
        raise RoomStarted
    if room.expires_at <= now:
        raise RoomNotFound  # only the sweeper's cancellation is missing
    check_stake(room.terms, player.kind)
    if room.is_full:
        raise RoomFull
    check_waiting(player, waiting_rooms, limit)
    taken = {seat.number for seat in room.seats}
    return next(number for number in range(room.terms.players_count) if number not in taken)


def check_stake(terms: Terms, kind: Kind) -> None:
    """Refuse a stake to those who may not play for one.

    Raises:
        Forbidden: a guest or a bot, and the room has a bet.
    """
    if terms.bet is not None and kind is not Kind.REGISTERED:
        raise Forbidden("only registered players play for stakes")


def check_waiting(player: Player, waiting_rooms: int, limit: int) -> None:
    """Refuse a seat in one waiting room too many.

    Raises:
        RateLimited
    """
    if player.kind is not Kind.BOT and waiting_rooms >= limit:
        raise RateLimited("you sit in too many waiting rooms")


def seat_to_leave(room: Room, player_id: UUID) -> Seat | None:
    """Return the seat that leaving frees; None if there is nothing to leave.

    Raises:
        RoomStarted: he sits, and the game is decided (L3: the row lock says who was first).
    """
    seat = room.seat_of(player_id)
    if seat is None or room.status is RoomStatus.CANCELLED:
        return None
    if room.status is not RoomStatus.WAITING:
        raise RoomStarted
    return seat


def check_bot_asker(room: Room, asker_id: UUID) -> None:
    """Refuse a bot to strangers and where there is a bet.

    Raises:
        Forbidden: the asker does not sit there.
        InvalidBet: bots play friendly games only.
    """
    if room.seat_of(asker_id) is None:
        raise Forbidden("only those who sit in the room may add a bot")
    if room.terms.bet is not None:
        raise InvalidBet("bots play friendly games only")
