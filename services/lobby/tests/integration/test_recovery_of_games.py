"""Rows S, G4 and F5 of the crash table: things get lost, and the lobby is restarted."""

from lobby.domain.room import RoomStatus
from services.lobby.tests.integration.fakes import Fault
from services.lobby.tests.integration.world import World, eventually
from shared.contracts.economy import (
    CAPTURE_HOLDS,
    GET_SETTLEMENT,
    CaptureHolds,
    HoldStatus,
    ReleaseHold,
)
from shared.contracts.engine import (
    ABANDON_GAME,
    CREATE_GAME,
    GET_GAME,
    AbandonGame,
    CreateGame,
    GameStatus,
)
from shared.contracts.lobby import RoomView
from shared.errors import HoldFailed
from shared.ids import new_id


async def starting(world: World, bet: int | None = 100) -> RoomView:
    room = await world.create(new_id(), bet=bet)
    await world.join(new_id(), room.room_id)
    return room


# --- S: starting ----------------------------------------------------------------------------------


async def test_s1_a_capture_with_a_lost_reply_is_repeated_with_the_same_arguments(
    world: World,
) -> None:
    await world.start()
    world.economy.break_down(CAPTURE_HOLDS, Fault.LOSE_REPLY)
    room = await starting(world)

    async def is_captured() -> bool:
        return len(world.economy.live(HoldStatus.CAPTURED)) == 2

    await eventually(is_captured)
    await world.stop()
    assert (await world.stored(room.room_id)).status is RoomStatus.STARTING
    world.economy.repair(CAPTURE_HOLDS)
    await world.start()

    await world.becomes(room.room_id, RoomStatus.PLAYING)
    assert len(set(world.economy.requests(CaptureHolds))) == 1
    assert await world.repairs(room.room_id) == ["S1", "S3"]


async def test_s1_a_capture_is_repeated_with_the_payout_table_its_room_was_made_with(
    world: World,
) -> None:
    await world.start(payout_config_version=7)
    world.economy.break_down(CAPTURE_HOLDS, Fault.LOSE_REPLY)
    room = await starting(world)

    async def is_captured() -> bool:
        return len(world.economy.live(HoldStatus.CAPTURED)) == 2

    await eventually(is_captured)
    await world.stop()
    world.economy.repair(CAPTURE_HOLDS)
    await world.start(payout_config_version=8)

    await world.becomes(room.room_id, RoomStatus.PLAYING)
    assert world.economy.only(CaptureHolds).payout_config_version == 7


async def test_s2_a_refused_capture_cancels_and_gives_every_stake_back(world: World) -> None:
    await world.start()
    world.economy.break_down(CAPTURE_HOLDS, HoldFailed())

    room = await starting(world)

    await world.becomes(room.room_id, RoomStatus.CANCELLED)
    await world.outbox_is_empty()
    assert set(world.economy.balances.values()) == {1000}
    assert world.engine.requests(CreateGame) == []


async def test_s2_is_decided_after_a_restart_as_well(world: World) -> None:
    await world.start()
    world.economy.break_down(CAPTURE_HOLDS)
    room = await starting(world)
    await world.stop()
    world.economy.break_down(CAPTURE_HOLDS, HoldFailed())
    await world.start()

    await world.becomes(room.room_id, RoomStatus.CANCELLED)
    await world.outbox_is_empty()
    assert set(world.economy.balances.values()) == {1000}
    assert await world.repairs(room.room_id) == ["S2"]


async def test_s3_a_creation_with_a_lost_reply_gives_the_same_game(world: World) -> None:
    await world.start()
    world.engine.break_down(CREATE_GAME, Fault.LOSE_REPLY)
    room = await starting(world)

    async def is_created() -> bool:
        return room.game_id in world.engine.games

    await eventually(is_created)
    await world.stop()
    world.engine.repair(CREATE_GAME)
    await world.start()

    await world.becomes(room.room_id, RoomStatus.PLAYING)
    assert len({request.game_id for request in world.engine.requests(CreateGame)}) == 1
    assert await world.repairs(room.room_id) == ["S3"]


async def test_s4_a_game_that_cannot_be_created_is_abandoned(world: World) -> None:
    await world.start(create_timeout_s=0.5)
    world.engine.break_down(CREATE_GAME)
    world.engine.break_down(ABANDON_GAME)
    room = await starting(world)

    async def is_abandoned() -> bool:
        return bool(world.engine.requests(AbandonGame))

    await eventually(is_abandoned)
    await world.stop()
    world.engine.repair(ABANDON_GAME)
    await world.start(create_timeout_s=0.5)
    stored = await world.becomes(room.room_id, RoomStatus.CANCELLED)

    assert stored.captured_at is not None
    assert world.engine.games[room.game_id] is GameStatus.ABANDONED
    # The pivot was passed: the engine's cancelled result pays back, the lobby releases nothing.
    await world.outbox_is_empty()
    assert world.economy.requests(ReleaseHold) == []
    assert await world.repairs(room.room_id) == ["S4"]


async def test_s4_a_game_that_runs_after_all_is_played(world: World) -> None:
    await world.start(create_timeout_s=1.0)
    world.engine.break_down(CREATE_GAME, Fault.LOSE_REPLY)
    world.engine.fail(ABANDON_GAME, Fault.LOSE_REQUEST)
    room = await starting(world)

    await world.becomes(room.room_id, RoomStatus.PLAYING)

    assert world.engine.games[room.game_id] is GameStatus.RUNNING


async def test_s4_a_friendly_room_is_cancelled_too(world: World) -> None:
    await world.start(create_timeout_s=0.5)
    world.engine.break_down(CREATE_GAME)

    room = await starting(world, bet=None)

    await world.becomes(room.room_id, RoomStatus.CANCELLED)


# --- G4, F5: playing and over ---------------------------------------------------------------------


async def playing(world: World) -> RoomView:
    room = await starting(world)
    await world.becomes(room.room_id, RoomStatus.PLAYING)
    return room


async def test_g4_a_game_the_engine_does_not_know_is_abandoned(world: World) -> None:
    await world.start()
    room = await playing(world)
    del world.engine.games[room.game_id]
    await world.restart(play_check_s=0.2)

    await world.becomes(room.room_id, RoomStatus.FINISHED)

    assert world.engine.games[room.game_id] is GameStatus.ABANDONED
    assert await world.repairs(room.room_id) == ["G4"]


async def test_g4_a_running_game_and_a_silent_engine_are_left_alone(world: World) -> None:
    await world.start()
    room = await playing(world)
    world.engine.fail(GET_GAME, Fault.LOSE_REQUEST)
    await world.restart(play_check_s=0.2)

    async def is_asked() -> bool:
        return len(world.engine.seen) >= 4

    await eventually(is_asked)
    assert (await world.stored(room.room_id)).status is RoomStatus.PLAYING
    assert await world.repairs(room.room_id) == []


async def test_f5_a_lost_game_finished_is_found_by_asking(world: World) -> None:
    await world.start()
    room = await playing(world)
    world.engine.games[room.game_id] = GameStatus.FINISHED
    await world.restart(play_check_s=0.2)

    await world.becomes(room.room_id, RoomStatus.FINISHED)

    assert await world.repairs(room.room_id) == ["F5"]


async def test_f5_a_lost_settlement_completed_is_found_by_asking(world: World) -> None:
    await world.start()
    room = await playing(world)
    await world.engine.finish(room.game_id)
    await world.becomes(room.room_id, RoomStatus.FINISHED)
    world.economy.fail(GET_SETTLEMENT, Fault.LOSE_REPLY)
    await world.restart(settle_check_s=0.2)

    async def is_asked() -> bool:
        return len(world.economy.seen) >= 6

    await eventually(is_asked)
    assert (await world.stored(room.room_id)).settled_at is None
    world.economy.settle(room.game_id)

    async def is_settled() -> bool:
        return (await world.stored(room.room_id)).settled_at is not None

    await eventually(is_settled)
    assert await world.repairs(room.room_id) == ["F5"]


async def test_two_replicas_repair_each_thing_once(world: World) -> None:
    await world.start()
    world.economy.break_down(CAPTURE_HOLDS)
    rooms = [await starting(world) for _ in range(3)]
    await world.stop()
    world.economy.repair(CAPTURE_HOLDS)
    await world.start()
    await world.start()

    for room in rooms:
        await world.becomes(room.room_id, RoomStatus.PLAYING)
        assert await world.repairs(room.room_id) == ["S1", "S3"]
    assert len({request.game_id for request in world.engine.requests(CreateGame)}) == len(rooms)
