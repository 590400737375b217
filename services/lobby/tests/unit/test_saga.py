"""The recovery brain, over every combination of what is stored and what is known."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from uuid import UUID

import pytest

from lobby.domain.room import Hold, Kind, Player, Room, RoomStatus, Seat, SeatState
from lobby.domain.saga import CALLS, CHANGES, Answer, Do, Facts, GameFact, Step, next_step
from lobby.domain.terms import Terms
from shared.ids import HoldId, PlayerId, RoomId, game_of_room, new_id

NOW = datetime(2027, 1, 1, tzinfo=UTC)
TIMEOUT = timedelta(seconds=60)
HOLD_ID = HoldId(UUID(int=1))

ALL_FACTS = [
    Facts(hold_id, hold, "ERR_INSUFFICIENT_FUNDS", capture, create, game, settled)
    for hold_id, hold, capture, create, game, settled in product(
        (None, HOLD_ID), Answer, Answer, (Answer.UNKNOWN, Answer.REFUSED),
        (None, *GameFact), (None, False, True),
    )
]  # fmt: skip


def seat(state: SeatState, deadline: datetime = NOW + timedelta(seconds=5)) -> Seat:
    hold = Hold(HOLD_ID, deadline, NOW + timedelta(minutes=2))
    return Seat(0, Player(PlayerId(UUID(int=2)), "Ann", Kind.REGISTERED), state, new_id(), hold)


def make_room(
    status: RoomStatus,
    *,
    bet: int | None = 100,
    is_captured: bool = False,
    place: Seat | None = None,
) -> Room:
    room_id = RoomId(new_id())
    return Room(
        room_id=room_id, game_id=game_of_room(room_id),
        terms=Terms("durak", "throw_in", 2, bet, 30, is_private=False), join_code=None,
        payout_config_version=1,
        status=status, seats=(place,) if place else (), created_at=NOW - timedelta(seconds=50),
        expires_at=NOW + timedelta(minutes=5), starting_at=NOW - timedelta(seconds=10),
        captured_at=NOW if is_captured else None, settled_at=None, version=1,
    )  # fmt: skip


def step(room: Room, facts: Facts = Facts(), now: datetime = NOW) -> Step:  # noqa: B008  # frozen
    return next_step(room, facts, now, TIMEOUT)


# --- waiting --------------------------------------------------------------------------------------


def test_a_reserved_seat_asks_for_its_hold_until_the_deadline() -> None:
    room = make_room(RoomStatus.WAITING, place=seat(SeatState.RESERVED))

    assert step(room, Facts(HOLD_ID)).do is Do.PLACE_HOLD
    late = step(room, Facts(HOLD_ID), NOW + timedelta(seconds=5))
    assert (late.do, late.row, late.code) == (Do.DROP_SEAT, "J2", "ERR_HOLD_FAILED")


@pytest.mark.parametrize("seconds", [0, 60])
def test_an_answered_hold_decides_before_and_after_the_deadline(seconds: int) -> None:
    room = make_room(RoomStatus.WAITING, place=seat(SeatState.RESERVED))
    now = NOW + timedelta(seconds=seconds)

    taken = step(room, Facts(HOLD_ID, hold=Answer.DONE), now)
    assert (taken.do, taken.row, taken.seat) == (Do.TAKE_SEAT, "J3", room.seats[0])
    refused = Facts(HOLD_ID, hold=Answer.REFUSED, hold_code="ERR_INSUFFICIENT_FUNDS")
    dropped = step(room, refused, now)
    assert (dropped.do, dropped.code) == (Do.DROP_SEAT, "ERR_INSUFFICIENT_FUNDS")


def test_a_waiting_room_without_an_open_seat_rests() -> None:
    for facts in ALL_FACTS:
        assert step(make_room(RoomStatus.WAITING), facts).do is Do.REST
        taken = make_room(RoomStatus.WAITING, place=seat(SeatState.TAKEN))
        assert step(taken, facts).do is Do.REST


def test_a_waiting_room_that_is_too_old_is_cancelled() -> None:
    for facts in ALL_FACTS:
        room = make_room(RoomStatus.WAITING, place=seat(SeatState.RESERVED))

        due = step(room, facts, room.expires_at)

        assert (due.do, due.row) == (Do.CANCEL, "L2")


# --- starting -------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_late", [False, True])
def test_before_the_pivot_only_the_capture_counts(*, is_late: bool) -> None:
    for facts in ALL_FACTS:
        now = NOW + TIMEOUT if is_late else NOW

        due = step(make_room(RoomStatus.STARTING), facts, now)

        expected = {
            Answer.UNKNOWN: (Do.CAPTURE_HOLDS, ""),
            Answer.DONE: (Do.MARK_CAPTURED, "S1"),
            Answer.REFUSED: (Do.CANCEL, "S2"),
        }
        assert (due.do, due.row) == expected[facts.capture]


@pytest.mark.parametrize(("bet", "is_captured"), [(100, True), (None, False)])
@pytest.mark.parametrize("is_late", [False, True])
def test_after_the_pivot_the_game_decides(
    bet: int | None, *, is_captured: bool, is_late: bool
) -> None:
    for facts in ALL_FACTS:
        room = make_room(RoomStatus.STARTING, bet=bet, is_captured=is_captured)

        due = step(room, facts, NOW + TIMEOUT if is_late else NOW)

        if facts.game in (GameFact.RUNNING, GameFact.FINISHED):
            assert (due.do, due.row) == (Do.PLAY, "S3")
        elif facts.game is GameFact.ABANDONED:
            assert (due.do, due.row) == (Do.CANCEL, "S4")
        elif is_late or facts.create is Answer.REFUSED:
            assert due.do is Do.ABANDON_GAME
        else:
            assert due.do is Do.CREATE_GAME


def test_a_late_capture_leaves_the_engine_its_whole_time() -> None:
    room = replace(make_room(RoomStatus.STARTING), starting_at=NOW - 10 * TIMEOUT, captured_at=NOW)
    facts = Facts(game=GameFact.MISSING)

    assert step(room, facts, NOW + TIMEOUT / 2).do is Do.CREATE_GAME
    assert step(room, facts, NOW + TIMEOUT).do is Do.ABANDON_GAME


# --- playing and over -----------------------------------------------------------------------------


def test_a_playing_room_follows_its_game() -> None:
    for facts in ALL_FACTS:
        due = step(make_room(RoomStatus.PLAYING, is_captured=True), facts)

        expected = {
            None: (Do.GET_GAME, ""),
            GameFact.MISSING: (Do.ABANDON_GAME, ""),
            GameFact.RUNNING: (Do.REST, ""),
            GameFact.ABANDONED: (Do.FINISH, "G4"),
            GameFact.FINISHED: (Do.FINISH, "F5"),
        }
        assert (due.do, due.row) == expected[facts.game]


@pytest.mark.parametrize("status", [RoomStatus.FINISHED, RoomStatus.CANCELLED])
def test_a_room_that_is_over_waits_for_its_settlement_only(status: RoomStatus) -> None:
    for facts in ALL_FACTS:
        captured = make_room(status, is_captured=True)
        expected = {None: Do.GET_SETTLEMENT, False: Do.REST, True: Do.MARK_SETTLED}

        assert step(captured, facts).do is expected[facts.is_settled]
        assert step(replace(captured, settled_at=NOW), facts).do is Do.REST
        assert step(make_room(status, bet=None), facts).do is Do.REST


# --- all ------------------------------------------------------------------------------------------


def test_every_step_is_a_call_a_change_or_rest() -> None:
    assert CALLS | CHANGES | {Do.REST} == set(Do)
    assert not CALLS & CHANGES


@pytest.mark.parametrize("status", RoomStatus)
@pytest.mark.parametrize("is_captured", [False, True])
@pytest.mark.parametrize("seconds", [0, 20, 100, 1000])
def test_a_change_names_its_row_and_a_seat_step_its_seat(
    status: RoomStatus, seconds: int, *, is_captured: bool
) -> None:
    room = make_room(status, is_captured=is_captured, place=seat(SeatState.RESERVED))

    for facts in ALL_FACTS:
        due = step(room, facts, NOW + timedelta(seconds=seconds))
        assert bool(due.row) == (due.do in CHANGES)
        is_about_seat = due.do in (Do.PLACE_HOLD, Do.TAKE_SEAT, Do.DROP_SEAT)
        assert (due.seat is not None) == is_about_seat
        # Nothing but the sweeper's age rule ever undoes a room whose stakes are captured.
        if due.do is Do.CANCEL and is_captured and status is RoomStatus.STARTING:
            assert facts.game is GameFact.ABANDONED
