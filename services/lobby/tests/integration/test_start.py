import pytest

from lobby.domain.room import RoomStatus
from services.lobby.tests.integration.world import UNSWEPT, World, eventually
from shared.contracts import lobby as contract
from shared.contracts.economy import (
    CAPTURE_HOLDS,
    SETTLEMENT_COMPLETED,
    CaptureHolds,
    FinishKind,
    HoldStatus,
)
from shared.contracts.engine import CREATE_GAME, AbandonGame, CreateGame, GameStatus
from shared.errors import Forbidden, InvalidBet, InvalidRequest, RoomFull, RoomStarted
from shared.ids import game_of_room, new_id


async def test_the_last_seat_starts_the_game_with_the_captured_stakes(world: World) -> None:
    await world.start(**UNSWEPT)
    ann, bob, eve = new_id(), new_id(), new_id()
    room = await world.create(ann, bet=100, players_count=3, mode="transfer", turn_seconds=20)
    await world.join(bob, room.room_id)

    joined = await world.join(eve, room.room_id)

    assert joined.status is contract.RoomStatus.STARTING
    stored = await world.becomes(room.room_id, RoomStatus.PLAYING)
    capture = world.economy.only(CaptureHolds)
    assert capture.game_id == game_of_room(room.room_id) == stored.game_id
    assert [hold.player_id for hold in capture.holds] == [ann, bob, eve]
    created = world.engine.only(CreateGame)
    assert [player.player_id for player in created.players] == [ann, bob, eve]
    assert all(player.nickname.startswith("P-") for player in created.players)
    assert (created.mode, created.options) == ("transfer", {"turn_seconds": 20})
    assert created.has_stake
    await world.pushed("lobby", "LOBBY_UPDATED", removed=str(room.room_id))
    assert await world.repairs(room.room_id) == []


async def test_a_friendly_game_never_touches_money(world: World) -> None:
    await world.start()
    room = await world.create(new_id(), is_private=True)
    assert room.join_code is not None

    await world.join_by_code(new_id(), room.join_code)

    await world.becomes(room.room_id, RoomStatus.PLAYING)
    created = world.engine.only(CreateGame)
    assert (created.has_stake, created.is_private) == (False, True)
    assert world.economy.seen == []


async def test_one_person_and_a_bot_start_a_friendly_game(world: World) -> None:
    await world.start()
    ann, request_id = new_id(), new_id()
    room = await world.create(ann)

    first = await world.add_bot(ann, room.room_id, request_id)
    again = await world.add_bot(ann, room.room_id, request_id)

    assert [seat.kind.value for seat in first.seats] == ["registered", "bot"]
    assert first.seats == again.seats
    await world.becomes(room.room_id, RoomStatus.PLAYING)
    created = world.engine.only(CreateGame)
    assert [player.is_bot for player in created.players] == [False, True]


async def test_each_bot_sits_in_a_room_once(world: World) -> None:
    await world.start()
    ann = new_id()
    room = await world.create(ann, players_count=4)

    for _ in range(3):
        room = await world.add_bot(ann, room.room_id)

    assert {seat.player_id for seat in room.seats} == {ann, *world.auth.bots}


async def test_bots_come_only_to_friendly_tables_and_only_when_asked_from_inside(
    world: World,
) -> None:
    await world.start()
    ann, bob = new_id(), new_id()
    friendly = await world.create(ann)
    staked = await world.create(ann, bet=100)

    with pytest.raises(Forbidden):
        await world.add_bot(bob, friendly.room_id)
    with pytest.raises(InvalidBet):
        await world.add_bot(ann, staked.room_id)
    await world.join(bob, friendly.room_id)
    with pytest.raises(RoomStarted):
        await world.add_bot(ann, friendly.room_id)


async def test_a_full_room_that_does_not_start_has_no_place_for_a_bot(world: World) -> None:
    await world.start()
    ann = new_id()
    room = await world.create(ann, players_count=2)
    await world.add_bot(ann, room.room_id)

    with pytest.raises((RoomFull, RoomStarted)):
        await world.add_bot(ann, room.room_id)


async def test_a_game_the_engine_refuses_is_abandoned_and_the_room_cancelled(
    world: World,
) -> None:
    await world.start()
    world.engine.break_down(CREATE_GAME, InvalidRequest())
    room = await world.create(new_id(), bet=100)

    await world.join(new_id(), room.room_id)

    await world.becomes(room.room_id, RoomStatus.CANCELLED)
    assert world.engine.games[room.game_id] is GameStatus.ABANDONED
    abandoned = world.engine.only(AbandonGame)
    assert abandoned.has_stake
    # The pivot was passed: the engine's cancelled result pays back, the lobby releases nothing.
    await world.outbox_is_empty()
    assert len(world.economy.live(HoldStatus.CAPTURED)) == 2


async def test_an_answer_the_contract_does_not_name_cancels_no_start(world: World) -> None:
    await world.start(**UNSWEPT)
    world.economy.fail(CAPTURE_HOLDS, Forbidden())
    world.engine.fail(CREATE_GAME, Forbidden())
    room = await world.create(new_id(), bet=100)

    await world.join(new_id(), room.room_id)

    await world.becomes(room.room_id, RoomStatus.PLAYING)
    assert len(world.economy.requests(CaptureHolds)) == 2
    assert len(world.engine.requests(CreateGame)) == 2
    assert world.engine.requests(AbandonGame) == []


async def test_the_end_of_the_game_ends_the_room_once(world: World) -> None:
    await world.start(**UNSWEPT)
    ann = new_id()
    room = await world.create(ann, bet=100)
    await world.join(new_id(), room.room_id)
    await world.becomes(room.room_id, RoomStatus.PLAYING)

    await world.engine.finish(room.game_id, times=3)
    finished = await world.becomes(room.room_id, RoomStatus.FINISHED)
    await world.economy.publish(SETTLEMENT_COMPLETED, world.economy.settle(room.game_id), times=3)

    async def is_settled() -> bool:
        return (await world.stored(room.room_id)).settled_at is not None

    await eventually(is_settled)
    assert (await world.stored(room.room_id)).version == finished.version
    await world.pushed(ann, "ROOM_UPDATED")
    mine = await world.gateway.call(
        contract.LIST_PLAYER_ROOMS, contract.ListPlayerRooms(player_id=ann)
    )
    assert mine.rooms == ()
    assert await world.repairs(room.room_id) == []


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (FinishKind.NORMAL, RoomStatus.FINISHED),
        (FinishKind.CANCELLED, RoomStatus.CANCELLED),
    ],
)
async def test_a_result_may_come_before_the_lobby_knows_that_the_game_runs(
    world: World, kind: FinishKind, status: RoomStatus
) -> None:
    await world.start()
    room = await world.create(new_id(), bet=100)
    world.engine.break_down(CREATE_GAME)  # the game is made, but the lobby never hears of it
    await world.join(new_id(), room.room_id)

    async def is_asked() -> bool:
        return bool(world.engine.requests(CreateGame))

    await eventually(is_asked)
    world.engine.created[room.game_id] = world.engine.requests(CreateGame)[0]
    await world.engine.finish(room.game_id, kind)

    stored = await world.becomes(room.room_id, status)
    assert stored.captured_at is not None


async def test_a_result_of_a_cancelled_or_unknown_room_changes_nothing(world: World) -> None:
    await world.start()
    ann = new_id()
    room = await world.create(ann)
    other = await world.create(new_id())
    await world.leave(ann, room.room_id)
    await world.join(new_id(), other.room_id)
    await world.becomes(other.room_id, RoomStatus.PLAYING)
    created = world.engine.created[other.game_id]

    for game_id in (room.game_id, new_id()):
        world.engine.created[game_id] = created
        await world.engine.finish(game_id)
    await world.engine.finish(other.game_id)

    await world.becomes(other.room_id, RoomStatus.FINISHED)
    assert (await world.stored(room.room_id)).status is RoomStatus.CANCELLED
