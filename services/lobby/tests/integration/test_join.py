import asyncio

import pytest

from lobby.domain.room import RoomStatus
from services.lobby.tests.integration.fakes import Fault
from services.lobby.tests.integration.world import World, eventually
from shared.contracts import lobby as contract
from shared.contracts.economy import PLACE_HOLD, HoldStatus, PlaceHold, ReleaseHold
from shared.errors import (
    AlreadyJoined,
    AppError,
    Forbidden,
    HoldFailed,
    InsufficientFunds,
    InvalidBet,
    InvalidRequest,
    RoomFull,
    RoomNotFound,
    RoomStarted,
    Unavailable,
)
from shared.ids import new_id


async def test_a_friendly_room_seats_its_maker_and_tells_the_lobby(world: World) -> None:
    await world.start()
    ann = new_id()

    room = await world.create(ann, turn_seconds=45)

    assert room.status is contract.RoomStatus.WAITING
    assert [(seat.seat, seat.player_id, seat.state) for seat in room.seats] == [
        (0, ann, contract.SeatState.TAKEN)
    ]
    assert (room.turn_seconds, room.join_code, room.bet) == (45, None, None)
    joined = await world.pushed(ann, "PLAYER_JOINED", room_id=str(room.room_id))
    assert joined["nickname"] == room.seats[0].nickname
    listed = await world.pushed("lobby", "LOBBY_UPDATED")
    assert listed["room"]["room_id"] == str(room.room_id)
    assert world.economy.seen == []


async def test_a_staked_seat_is_taken_once_the_stake_is_held(world: World) -> None:
    await world.start()
    ann, bob = new_id(), new_id()

    room = await world.create(ann, bet=100, players_count=3)
    await world.join(bob, room.room_id)

    stored = await world.stored(room.room_id)
    assert [seat.player.player_id for seat in stored.seats] == [ann, bob]
    assert world.economy.balances == {ann: 900, bob: 900}
    assert {hold.status for hold in world.economy.holds.values()} == {HoldStatus.HELD}
    await world.pushed(ann, "PLAYER_JOINED", player_id=str(bob))
    updated = await world.pushed(bob, "ROOM_UPDATED")
    assert updated["room"]["room_id"] == str(room.room_id)


@pytest.mark.parametrize("bet", [None, 100])
async def test_of_n_plus_one_parallel_joins_exactly_one_is_left_out(
    world: World, bet: int | None
) -> None:
    await world.start()
    room = await world.create(new_id(), bet=bet, players_count=4)
    players = [new_id() for _ in range(4)]

    answers = await asyncio.gather(
        *(world.join(player, room.room_id) for player in players), return_exceptions=True
    )

    refused = [answer for answer in answers if isinstance(answer, BaseException)]
    assert len(refused) == 1
    assert isinstance(refused[0], RoomFull | RoomStarted)
    stored = await world.becomes(room.room_id, RoomStatus.PLAYING)
    assert [seat.number for seat in stored.seats] == [0, 1, 2, 3]
    assert len(world.economy.live(HoldStatus.CAPTURED)) == (4 if bet else 0)
    assert world.economy.live() == []


async def test_another_request_of_who_sits_is_already_joined(world: World) -> None:
    await world.start()
    bob = new_id()
    room = await world.create(bob, players_count=3)

    with pytest.raises(AlreadyJoined):
        await world.join(bob, room.room_id)


@pytest.mark.parametrize(
    ("terms", "error"),
    [
        ({"game": "chess"}, InvalidRequest), ({"mode": "blitz"}, InvalidRequest),
        ({"players_count": 5}, InvalidRequest), ({"turn_seconds": 5}, InvalidRequest),
        ({"bet": 0}, InvalidBet), ({"bet": -5}, InvalidBet), ({"bet": 10**15 + 1}, InvalidBet),
    ],
)  # fmt: skip
async def test_impossible_terms_make_no_room(
    world: World, terms: dict[str, object], error: type[AppError]
) -> None:
    await world.start()

    with pytest.raises(error):
        await world.create(new_id(), **terms)

    assert await world.rows("select room_id from room") == []


async def test_a_poor_player_gets_the_refusal_and_loses_the_seat(world: World) -> None:
    await world.start()
    room = await world.create(new_id(), bet=100, players_count=3)
    bob, request_id = new_id(), new_id()
    world.economy.balances[bob] = 99

    with pytest.raises(InsufficientFunds):
        await world.join(bob, room.room_id, request_id)
    with pytest.raises(InsufficientFunds):
        await world.join(bob, room.room_id, request_id)

    assert len((await world.stored(room.room_id)).seats) == 1
    await world.outbox_is_empty()
    release = world.economy.only(ReleaseHold)
    assert release.player_id == bob
    assert world.economy.balances[bob] == 99
    await world.pushed("lobby", "LOBBY_UPDATED")


async def test_a_maker_who_cannot_pay_leaves_a_cancelled_room(world: World) -> None:
    await world.start()
    ann = new_id()
    world.economy.balances[ann] = 5

    with pytest.raises(InsufficientFunds):
        await world.create(ann, bet=100)

    ((room_id, status),) = await world.rows("select room_id, status from room")
    assert status == "cancelled"
    await world.pushed("lobby", "LOBBY_UPDATED", removed=str(room_id))


async def test_guests_play_friendly_games_only(world: World) -> None:
    await world.start()
    by_session, by_profile = new_id(), new_id()
    world.auth.guests.add(by_profile)
    staked = await world.create(new_id(), bet=100)
    friendly = await world.create(new_id(), players_count=4)

    with pytest.raises(Forbidden):
        await world.create(by_profile, bet=100)
    with pytest.raises(Forbidden):
        await world.join(by_profile, staked.room_id)
    with pytest.raises(Forbidden):
        await world.join(by_session, staked.room_id, is_guest=True)
    await world.join(by_profile, friendly.room_id)
    joined = await world.join(by_session, friendly.room_id, is_guest=True)

    assert [seat.kind.value for seat in joined.seats] == ["registered", "guest", "guest"]


async def test_a_private_room_opens_by_its_code_only(world: World) -> None:
    await world.start()
    ann, bob = new_id(), new_id()

    room = await world.create(ann, is_private=True, players_count=3)

    assert room.join_code is not None
    assert len(room.join_code) == 16
    for error in (world.join(bob, room.room_id), world.get(room.room_id, bob)):
        with pytest.raises(RoomNotFound):
            await error
    with pytest.raises(RoomNotFound):
        await world.join_by_code(bob, "A" * 16)
    typed = f" {room.join_code[:8].lower()}-{room.join_code[8:]} "
    joined = await world.join_by_code(bob, typed)
    assert joined.join_code == room.join_code
    assert (await world.get(room.room_id, bob)).join_code == room.join_code
    listed = await world.gateway.call(contract.LIST_ROOMS, contract.ListRooms())
    assert listed.rooms == ()
    assert not [content for key, content in world.pushes if key == "lobby"]


async def test_a_full_room_that_waits_for_a_stake_is_full(world: World) -> None:
    await world.start(hold_deadline_s=30.0)
    room = await world.create(new_id(), bet=100)
    world.economy.break_down(PLACE_HOLD)
    joining = asyncio.create_task(world.join(new_id(), room.room_id))
    await world.pushed(room.seats[0].player_id, "ROOM_UPDATED")

    async def two_seats() -> bool:
        return len((await world.stored(room.room_id)).seats) == 2

    await eventually(two_seats)
    with pytest.raises(RoomFull):
        await world.join(new_id(), room.room_id)
    world.economy.break_down(PLACE_HOLD, InsufficientFunds())
    with pytest.raises(InsufficientFunds):
        await joining


async def test_a_lost_reply_of_the_hold_is_asked_for_again_with_the_same_id(
    world: World,
) -> None:
    await world.start()
    room = await world.create(new_id(), bet=100, players_count=3)
    bob = new_id()
    world.economy.fail(PLACE_HOLD, Fault.LOSE_REQUEST, Fault.LOSE_REPLY, Unavailable())

    await world.join(bob, room.room_id)

    asked = [r for r in world.economy.requests(PlaceHold) if r.player_id == bob]
    assert len(asked) >= 4
    assert len(set(asked)) == 1
    assert world.economy.balances[bob] == 900


async def test_an_answer_the_contract_does_not_name_is_no_refusal_of_the_stake(
    world: World,
) -> None:
    await world.start()
    room = await world.create(new_id(), bet=100, players_count=3)
    bob = new_id()
    world.economy.fail(PLACE_HOLD, Forbidden(), InvalidRequest())

    await world.join(bob, room.room_id)

    asked = [r for r in world.economy.requests(PlaceHold) if r.player_id == bob]
    assert len({request.hold_id for request in asked}) == 1
    assert world.economy.balances[bob] == 900


async def test_a_hold_that_was_given_back_already_is_a_refusal(world: World) -> None:
    await world.start()
    room = await world.create(new_id(), bet=100, players_count=3)
    world.economy.fail(PLACE_HOLD, HoldFailed())

    with pytest.raises(HoldFailed):
        await world.join(new_id(), room.room_id)

    assert len((await world.stored(room.room_id)).seats) == 1


async def test_an_unknown_player_and_an_unknown_room_are_refused(world: World) -> None:
    await world.start()
    room = await world.create(new_id())
    stranger = new_id()
    world.auth.strangers.add(stranger)

    with pytest.raises(Forbidden):
        await world.join(stranger, room.room_id)
    with pytest.raises(RoomNotFound):
        await world.join(new_id(), new_id())


async def test_a_started_room_takes_nobody(world: World) -> None:
    await world.start()
    room = await world.create(new_id())
    await world.join(new_id(), room.room_id)

    with pytest.raises(RoomStarted):
        await world.join(new_id(), room.room_id)
