from typing import Any

import pytest

from services.lobby.tests.integration.world import World
from shared.contracts import lobby as contract
from shared.errors import InvalidRequest, RoomNotFound
from shared.ids import new_id


async def listed(world: World, **query: Any) -> contract.Rooms:
    return await world.gateway.call(contract.LIST_ROOMS, contract.ListRooms(**query))


async def test_the_list_shows_public_waiting_rooms_newest_first_page_by_page(
    world: World,
) -> None:
    await world.start()
    made = [await world.create(new_id()) for _ in range(5)]
    await world.create(new_id(), is_private=True)
    started = await world.create(new_id())
    await world.join(new_id(), started.room_id)

    seen: list[contract.RoomView] = []
    cursor: str | None = None
    for size in (2, 2, 1):
        page = await listed(world, limit=2, cursor=cursor)
        assert len(page.rooms) == size
        seen += page.rooms
        cursor = page.next_cursor

    assert cursor is None
    assert [room.room_id for room in seen] == [room.room_id for room in reversed(made)]


async def test_the_list_can_be_narrowed(world: World) -> None:
    await world.start()
    friendly = await world.create(new_id())
    staked = await world.create(new_id(), bet=100, players_count=3, mode="transfer")

    async def ids(**query: Any) -> set[object]:
        return {room.room_id for room in (await listed(world, **query)).rooms}

    assert await ids() == {friendly.room_id, staked.room_id}
    assert await ids(friendly=True) == {friendly.room_id}
    assert await ids(friendly=False) == {staked.room_id}
    assert await ids(mode="transfer") == {staked.room_id}
    assert await ids(players_count=2, game="durak") == {friendly.room_id}
    assert await ids(game="chess") == set()


async def test_a_cursor_of_somebody_else_is_refused(world: World) -> None:
    await world.start()

    with pytest.raises(InvalidRequest):
        await listed(world, cursor="next please")


async def test_a_player_finds_the_rooms_he_sits_in(world: World) -> None:
    await world.start()
    ann, bob = new_id(), new_id()
    private = await world.create(ann, is_private=True)
    playing = await world.create(ann)
    await world.join(bob, playing.room_id)
    left = await world.create(ann)
    await world.leave(ann, left.room_id)

    mine = await world.gateway.call(
        contract.LIST_PLAYER_ROOMS, contract.ListPlayerRooms(player_id=ann)
    )

    assert [room.room_id for room in mine.rooms] == [playing.room_id, private.room_id]
    assert mine.rooms[1].join_code == private.join_code


async def test_a_public_room_is_seen_by_everybody_and_an_unknown_one_by_nobody(
    world: World,
) -> None:
    await world.start()
    room = await world.create(new_id())

    assert (await world.get(room.room_id)).seats == room.seats
    with pytest.raises(RoomNotFound):
        await world.get(new_id())
