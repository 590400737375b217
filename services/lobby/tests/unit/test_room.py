from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from uuid import UUID

import pytest

from lobby.domain.room import (
    ALLOWED,
    Hold,
    Kind,
    Player,
    Room,
    RoomChange,
    RoomStatus,
    Seat,
    SeatState,
    check_bot_asker,
    check_join,
    check_visible,
    next_status,
    seat_to_leave,
)
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
)
from shared.ids import HoldId, PlayerId, RoomId, game_of_room, new_id

NOW = datetime(2027, 1, 1, tzinfo=UTC)
LIMIT = 3


def player(kind: Kind = Kind.REGISTERED) -> Player:
    return Player(PlayerId(new_id()), "Ann", kind)


def seat(number: int, state: SeatState = SeatState.TAKEN, who: Player | None = None) -> Seat:
    return Seat(number, who or player(), state, new_id(), None)


def make_room(*seats: Seat, status: RoomStatus = RoomStatus.WAITING, **terms: object) -> Room:
    room_id = RoomId(new_id())
    full = replace(Terms("durak", "throw_in", 3, None, 30, is_private=False), **terms)  # type: ignore[arg-type]  # fields by name
    return Room(
        room_id=room_id, game_id=game_of_room(room_id), terms=full,
        join_code="A" * 16 if full.is_private else None, payout_config_version=1,
        status=status, seats=seats,
        created_at=NOW, expires_at=NOW + timedelta(minutes=30), starting_at=None,
        captured_at=None, settled_at=None, version=1,
    )  # fmt: skip


def join(room: Room, who: Player, waiting: int = 0, now: datetime = NOW) -> int:
    return check_join(room, who, waiting, now, LIMIT)


@pytest.mark.parametrize(("status", "change"), list(product(RoomStatus, RoomChange)))
def test_only_the_table_moves_a_room(status: RoomStatus, change: RoomChange) -> None:
    if (status, change) in ALLOWED:
        assert next_status(status, change) is ALLOWED[status, change]
    else:
        with pytest.raises(InvariantBrokenError):
            next_status(status, change)


def test_every_status_is_reached_and_two_are_final() -> None:
    assert set(ALLOWED.values()) == set(RoomStatus) - {RoomStatus.WAITING}
    final = set(RoomStatus) - {status for status, _ in ALLOWED}
    assert final == {RoomStatus.FINISHED, RoomStatus.CANCELLED}


def test_a_joiner_gets_the_lowest_free_seat() -> None:
    assert join(make_room(), player()) == 0
    assert join(make_room(seat(0), seat(2)), player()) == 1


def test_a_reserved_seat_is_occupied() -> None:
    room = make_room(seat(0), seat(1, SeatState.RESERVED), players_count=2)

    with pytest.raises(RoomFull):
        join(room, player())


@pytest.mark.parametrize("status", [RoomStatus.WAITING, RoomStatus.STARTING, RoomStatus.PLAYING])
def test_who_sits_already_hears_so_whatever_the_status(status: RoomStatus) -> None:
    ann = player()

    with pytest.raises(AlreadyJoined):
        join(make_room(seat(0, who=ann), status=status), ann)


@pytest.mark.parametrize("status", set(RoomStatus) - {RoomStatus.WAITING})
def test_a_room_that_does_not_wait_takes_nobody(status: RoomStatus) -> None:
    with pytest.raises(RoomStarted):
        join(make_room(status=status), player())


def test_an_expired_room_takes_nobody() -> None:
    with pytest.raises(RoomNotFound):
        join(make_room(), player(), now=NOW + timedelta(minutes=30))


@pytest.mark.parametrize("kind", [Kind.GUEST, Kind.BOT])
def test_only_registered_players_stake(kind: Kind) -> None:
    assert join(make_room(bet=None), player(kind)) == 0
    with pytest.raises(Forbidden):
        join(make_room(bet=100), player(kind))


def test_three_waiting_rooms_are_enough_for_people_but_not_for_bots() -> None:
    with pytest.raises(RateLimited):
        join(make_room(), player(), waiting=LIMIT)
    assert join(make_room(), player(Kind.BOT), waiting=LIMIT) == 0


def test_a_private_room_is_seen_only_from_inside() -> None:
    ann = player()
    room = make_room(seat(0, who=ann), is_private=True)

    assert check_visible(room, ann.player_id) is room
    for stranger in (None, new_id()):
        with pytest.raises(RoomNotFound):
            check_visible(room, stranger)
    with pytest.raises(RoomNotFound):
        check_visible(None, ann.player_id)


@pytest.mark.parametrize("status", [RoomStatus.STARTING, RoomStatus.PLAYING, RoomStatus.FINISHED])
def test_nobody_leaves_after_the_start(status: RoomStatus) -> None:
    ann = player()

    with pytest.raises(RoomStarted):
        seat_to_leave(make_room(seat(0, who=ann), status=status), ann.player_id)


def test_leaving_frees_the_own_seat_or_nothing() -> None:
    ann = player()
    place = seat(1, who=ann)

    assert seat_to_leave(make_room(seat(0), place), ann.player_id) is place
    assert seat_to_leave(make_room(seat(0)), ann.player_id) is None
    cancelled = make_room(place, status=RoomStatus.CANCELLED)
    assert seat_to_leave(cancelled, ann.player_id) is None


def test_bots_are_asked_for_from_inside_and_without_a_bet() -> None:
    ann = player()

    check_bot_asker(make_room(seat(0, who=ann)), ann.player_id)
    with pytest.raises(Forbidden):
        check_bot_asker(make_room(seat(0)), ann.player_id)
    with pytest.raises(InvalidBet):
        check_bot_asker(make_room(seat(0, who=ann), bet=5), ann.player_id)


def test_a_room_may_start_with_every_seat_taken() -> None:
    assert make_room(seat(0), seat(1), players_count=2).may_start
    assert not make_room(seat(0), players_count=2).may_start
    assert not make_room(seat(0), seat(1, SeatState.RESERVED), players_count=2).may_start


def test_seats_are_found_by_player_and_by_hold() -> None:
    hold_id = HoldId(UUID(int=7))
    held = replace(seat(1), hold=Hold(hold_id, NOW, NOW))
    room = make_room(seat(0), held)

    assert room.seat_of_hold(hold_id) is held
    assert room.seat_of(held.player.player_id) is held
    assert room.seat_of_hold(None) is None
    assert room.seat_of(None) is None


def test_a_friendly_room_has_no_stake() -> None:
    assert make_room(bet=8).stake == 8
    with pytest.raises(InvariantBrokenError):
        _ = make_room(bet=None).stake


def test_a_room_of_bots_has_no_humans() -> None:
    assert not make_room(seat(0, who=player(Kind.BOT))).has_humans
    assert make_room(seat(0, who=player(Kind.GUEST))).has_humans
