"""What other services tell players and the lobby."""

from services.realtime.tests.integration.world import World
from shared.ids import new_id


async def test_a_player_s_pushes_reach_all_his_sockets_and_nobody_else_s(world: World) -> None:
    player_id = new_id()
    clients = [await world.enter(player_id), await world.enter(player_id)]
    other = await world.enter()

    await world.lobby.tell(player_id, "ROOM_UPDATED", room={"room_id": "r"})
    for client in clients:
        assert (await client.next("ROOM_UPDATED"))["room"] == {"room_id": "r"}
    await other.settle()

    assert other.of("ROOM_UPDATED") == []
    await clients[0].settle()
    assert len(clients[0].of("ROOM_UPDATED")) == 1


async def test_a_player_who_left_and_came_back_gets_each_push_once(world: World) -> None:
    player_id = new_id()
    first = await world.enter(player_id)
    await first.socket.close()
    again = await world.enter(player_id)

    await world.lobby.tell(player_id, "BALANCE_UPDATED", available=1)
    await again.next("BALANCE_UPDATED")
    await again.settle()

    assert len(again.of("BALANCE_UPDATED")) == 1


async def test_the_lobby_reaches_those_who_watch_it(world: World) -> None:
    watching, not_watching, no_longer = [await world.enter() for _ in range(3)]
    for client in (watching, no_longer):
        assert (await client.ask("WATCH_LOBBY"))["type"] == "ACTION_ACCEPTED"
    await no_longer.ask("UNWATCH_LOBBY")

    await world.lobby.publish(room={"room_id": "r"})
    assert (await watching.next("LOBBY_UPDATED"))["room"] == {"room_id": "r"}
    for client in (not_watching, no_longer):
        await client.settle()
        assert client.of("LOBBY_UPDATED") == []
