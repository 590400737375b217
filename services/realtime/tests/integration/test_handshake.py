"""Who gets a socket, and as whom."""

import asyncio
import json
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from services.realtime.tests.integration.world import ORIGIN, World, until
from shared.contracts.auth import Role
from shared.ids import new_id


async def status_of(world: World, url: str, **options: Any) -> int:
    with pytest.raises(InvalidStatus) as refused:
        await world.open(url, **options)
    return refused.value.response.status_code


async def test_a_header_lets_a_player_in(world: World) -> None:
    client = await world.enter()

    assert [frame["type"] for frame in client.frames] == ["PONG"]


async def test_a_ticket_lets_a_player_in_once(world: World) -> None:
    url = f"{world.gateway.url}?ticket={world.auth.ticket(world.auth.identity())}"

    first = await world.open(url)
    await first.settle()
    second = await world.open(url)

    assert await second.closed() == 4401
    assert second.frames[0]["code"] == "ERR_UNAUTHORIZED"


async def test_auth_as_the_first_message_lets_a_player_in(world: World) -> None:
    identity = world.auth.identity()
    client = await world.open(world.gateway.url)

    reply = await client.ask("AUTH", payload={"access_token": world.auth.token(identity)})

    assert reply["type"] == "ACTION_ACCEPTED"
    assert reply["player_id"] == str(identity.player_id)
    await client.settle()


async def test_messages_sent_right_after_auth_are_not_lost(world: World) -> None:
    token = world.auth.token(world.auth.identity())
    client = await world.open(world.gateway.url)

    await client.say("AUTH", payload={"access_token": token})
    await client.settle()

    assert [frame["type"] for frame in client.frames] == ["ACTION_ACCEPTED", "PONG"]


async def test_another_first_message_than_auth_closes(world: World) -> None:
    client = await world.open(world.gateway.url)

    request_id = await client.say("PING")

    assert await client.closed() == 4401
    assert client.frames[0]["code"] == "ERR_UNAUTHORIZED"
    assert client.frames[0]["request_id"] == request_id


async def test_no_auth_within_its_time_closes(around: World) -> None:
    await around.start_gateway(auth_deadline_s=0.2)

    client = await around.open(around.gateway.url)

    assert await client.closed() == 4401


@pytest.mark.parametrize("origin", [ORIGIN, None])
async def test_a_listed_origin_and_none_are_let_in(world: World, origin: str | None) -> None:
    ticket = world.auth.ticket(world.auth.identity())

    client = await world.open(f"{world.gateway.url}?ticket={ticket}", origin=origin)

    await client.settle()


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", f"{ORIGIN}.evil.example", "http://samovar.example"]
)
async def test_another_origin_is_refused_before_the_ticket_is_spent(
    world: World, origin: str
) -> None:
    ticket = world.auth.ticket(world.auth.identity())

    assert await status_of(world, f"{world.gateway.url}?ticket={ticket}", origin=origin) == 403

    assert ticket in world.auth.tickets


async def test_another_path_is_not_found(world: World) -> None:
    url = world.gateway.url.removesuffix("/ws")

    assert await status_of(world, f"{url}/other") == 404


@pytest.mark.parametrize("header", ["keep-alive, Upgrade", "upgrade"])
async def test_a_connection_header_as_browsers_send_it_is_understood(
    world: World, header: str
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", world.gateway.settings.ws_port)

    writer.write(
        f"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: {header}\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
    )
    async with asyncio.timeout(5):
        answer = await reader.readuntil(b"\r\n\r\n")
    writer.close()
    await writer.wait_closed()

    assert answer.startswith(b"HTTP/1.1 101")


async def test_a_token_that_is_not_ours_closes(world: World) -> None:
    identity = world.auth.identity()
    good = world.auth.token(identity)
    stranger = type(world.auth)()
    wrong = {
        "garbage": "ERR_UNAUTHORIZED",
        "": "ERR_UNAUTHORIZED",
        good[:-4] + "AAAA": "ERR_UNAUTHORIZED",
        stranger.token(identity): "ERR_UNAUTHORIZED",
        world.auth.token(identity, audience="ws"): "ERR_UNAUTHORIZED",
        world.auth.token(world.auth.identity(seconds=-1)): "ERR_TOKEN_EXPIRED",
    }

    for token, code in wrong.items():
        client = await world.open(world.gateway.url)
        await client.say("AUTH", payload={"access_token": token})
        assert await client.closed() == 4401
        assert client.frames[0]["code"] == code


async def test_nobody_is_let_in_before_the_revocations_are_known(around: World) -> None:
    identity = around.auth.identity()
    token = around.auth.token(identity)
    await around.auth.revoke(identity.session_id, is_heard=False)
    await around.auth.stop()
    await around.start_gateway(is_ready=False)
    bearer = {"Authorization": f"Bearer {token}"}

    assert await status_of(around, around.gateway.url, additional_headers=bearer) == 503

    async with around.rest(identity) as rest:
        reply = await rest.get("/v1/wallet")
        assert (reply.status_code, reply.json()["code"]) == (503, "ERR_UNAVAILABLE")
    await around.auth.start(around.infra)
    await until(around.gateway.is_ready)
    client = await around.open(around.gateway.url, additional_headers=bearer)
    assert await client.closed() == 4401
    assert client.frames[0]["code"] == "ERR_SESSION_REVOKED"


async def test_a_player_has_a_bounded_number_of_sockets(around: World) -> None:
    await around.start_gateway(sockets_per_player=2)
    identity = around.auth.identity()
    first = await around.enter(identity)
    await around.enter(identity)

    third = await around.open(
        around.gateway.url,
        additional_headers={"Authorization": f"Bearer {around.auth.token(identity)}"},
    )

    assert await third.closed() == 4429
    await first.settle()
    await first.socket.close()
    await around.enter(identity)


async def test_a_guest_is_let_in_too(world: World) -> None:
    await world.enter(world.auth.identity(new_id(), role=Role.GUEST))


async def test_a_message_in_several_frames_is_one_message(world: World) -> None:
    client = await world.enter()
    whole = json.dumps({"version": 1, "type": "PING", "request_id": str(new_id())})

    await client.socket.send([whole[:10], whole[10:20], whole[20:]])

    assert (await client.next())["type"] == "PONG"
