"""The database itself keeps the rules of rooms."""

from itertools import product
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from lobby.domain.room import ALLOWED, RoomStatus
from samovar.addresses import Addresses
from shared.db import Database, Tx, sqlstate
from shared.ids import new_id

CHECK_VIOLATION = "23514"
DENIED = "42501"

# How a row of each status looks, reached by allowed steps only.
PATHS: dict[RoomStatus, tuple[RoomStatus, ...]] = {
    RoomStatus.WAITING: (),
    RoomStatus.STARTING: (RoomStatus.STARTING,),
    RoomStatus.PLAYING: (RoomStatus.STARTING, RoomStatus.PLAYING),
    RoomStatus.FINISHED: (RoomStatus.STARTING, RoomStatus.PLAYING, RoomStatus.FINISHED),
    RoomStatus.CANCELLED: (RoomStatus.CANCELLED,),
}


async def insert_room(tx: Tx, bet: int | None = None) -> Any:
    room_id = new_id()
    await tx.execute(
        text("""
            insert into room (room_id, game_id, game, mode, players_count, bet, turn_seconds,
              is_private, payout_config_version, created_at, expires_at)
            values (:room_id, :game_id, 'durak', 'throw_in', 2, :bet, 30, false, 1, now(),
              now() + interval '1 hour')
        """),
        {"room_id": room_id, "game_id": new_id(), "bet": bet},
    )
    return room_id


async def insert_seat(tx: Tx, room_id: Any, number: int, state: str = "taken") -> None:
    await tx.execute(
        text("""
            insert into seat (room_id, seat, player_id, nickname, kind, state, request_id)
            values (:room_id, :seat, :player_id, 'Ann', 'registered', :state, :request_id)
        """),
        {
            "room_id": room_id, "seat": number, "player_id": new_id(), "state": state,
            "request_id": new_id(),
        },
    )  # fmt: skip


async def move(tx: Tx, room_id: Any, status: RoomStatus) -> None:
    await tx.execute(
        text("""
            update room set status = :status,
              starting_at = case when :status in ('waiting', 'cancelled') then starting_at
                else coalesce(starting_at, now()) end,
              playing_at = case when :status in ('playing', 'finished')
                then coalesce(playing_at, now()) else playing_at end,
              over_at = case when :status in ('finished', 'cancelled') then now() end
            where room_id = :room_id
        """),
        {"room_id": room_id, "status": status.value},
    )


@pytest.mark.parametrize(("before", "after"), list(product(RoomStatus, RoomStatus)))
async def test_the_database_knows_the_same_transitions(
    db: Database, before: RoomStatus, after: RoomStatus
) -> None:
    async with db.transaction() as tx:
        room_id = await insert_room(tx)
        for number in range(2):
            await insert_seat(tx, room_id, number)
        for status in PATHS[before]:
            await move(tx, room_id, status)

    allowed = {(status, then) for (status, _), then in ALLOWED.items()}
    if before is after or (before, after) in allowed:
        async with db.transaction() as tx:
            await move(tx, room_id, after)
        return
    with pytest.raises(DBAPIError) as refused:
        async with db.transaction() as tx:
            await move(tx, room_id, after)
    assert sqlstate(refused.value) == CHECK_VIOLATION


@pytest.mark.parametrize(
    "statement",
    [
        "update room set bet = 5", "update room set players_count = 3",
        "update room set mode = 'transfer'", "update room set game_id = room_id",
        "update room set payout_config_version = 2",
        "update room set captured_at = now()", "update room set settled_at = now()",
        "update room set status = 'starting', starting_at = now()",
        "update seat set state = 'reserved'", "update seat set seat = 1",
        """insert into seat (room_id, seat, player_id, nickname, kind, state, request_id)
           select room_id, 2, request_id, nickname, kind, state, request_id from seat""",
    ],
)  # fmt: skip
async def test_terms_marks_and_seats_cannot_be_bent(db: Database, statement: str) -> None:
    async with db.transaction() as tx:
        room_id = await insert_room(tx)
        await insert_seat(tx, room_id, 0)

    with pytest.raises(DBAPIError) as refused:
        async with db.transaction() as tx:
            await tx.execute(text(statement))

    assert sqlstate(refused.value) == CHECK_VIOLATION


async def test_no_seat_changes_once_the_room_starts(db: Database) -> None:
    async with db.transaction() as tx:
        room_id = await insert_room(tx)
        for number in range(2):
            await insert_seat(tx, room_id, number)
        await move(tx, room_id, RoomStatus.STARTING)

    with pytest.raises(DBAPIError) as refused:
        async with db.transaction() as tx:
            await tx.execute(text("delete from seat"))
    assert sqlstate(refused.value) == CHECK_VIOLATION


async def test_a_staked_game_is_not_played_before_the_capture(db: Database) -> None:
    async with db.transaction() as tx:
        room_id = await insert_room(tx, bet=100)
        for number in range(2):
            await tx.execute(
                text("""
                    insert into seat (room_id, seat, player_id, nickname, kind, state, request_id,
                      hold_id, hold_deadline_at, hold_expires_at)
                    values (:room_id, :seat, :id, 'Ann', 'registered', 'taken', :id, :id, now(),
                      now())
                """),
                {"room_id": room_id, "seat": number, "id": new_id()},
            )
        await move(tx, room_id, RoomStatus.STARTING)

    with pytest.raises(DBAPIError) as refused:
        async with db.transaction() as tx:
            await move(tx, room_id, RoomStatus.PLAYING)
    assert sqlstate(refused.value) == CHECK_VIOLATION


@pytest.mark.parametrize(
    "statement",
    [
        "delete from room", "update room set bet = 5", "update seat set player_id = room_id",
        "delete from recovery_event", "update recovery_event set action = ''", "truncate seat",
        "drop table seat", "create table mine (id int)",
    ],
)  # fmt: skip
async def test_the_service_has_only_the_rights_it_needs(infra: Addresses, statement: str) -> None:
    db = Database.connect(infra.database_url("lobby"), name="lobby-rights", pool_size=1)
    try:
        with pytest.raises(DBAPIError) as refused:
            async with db.transaction() as tx:
                await tx.execute(text(statement))
        assert sqlstate(refused.value) == DENIED
    finally:
        await db.close()
