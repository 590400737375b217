"""Sessions and sockets through the edge: what ends a session ends its sockets."""

import asyncio
import json

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.match import signed_up


@pytest.fixture
async def account(platform):
    async with signed_up(platform, 1) as [api]:
        yield api


async def tokens_of(platform, name):
    async with httpx.AsyncClient(base_url=platform.endpoints.auth) as http:
        body = {"email": f"{name}@example.org", "password": "correct horse", "nickname": name}
        reply = await http.post("/v1/auth/signup", json=body)
        reply.raise_for_status()
        return reply.json()


async def read_on(socket):
    async with asyncio.timeout(10):
        while True:
            await socket.recv()


async def close_code(socket):
    with pytest.raises(ConnectionClosed) as closed:
        await read_on(socket)
    return closed.value.rcvd.code


async def test_a_ticket_opens_one_socket(platform, account):
    url = f"{platform.endpoints.socket}?ticket={await account.ticket()}"
    async with connect(url) as first, connect(url) as second:
        await first.send(json.dumps({"version": 1, "type": "PING"}))

        assert json.loads(await asyncio.wait_for(first.recv(), 10))["type"] == "PONG"
        assert await close_code(second) == 4401


async def test_logging_out_closes_the_sockets_of_the_session(platform):
    tokens = await tokens_of(platform, "leaver")
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    async with connect(platform.endpoints.socket, additional_headers=bearer) as socket:
        await socket.send(json.dumps({"version": 1, "type": "PING"}))
        assert json.loads(await asyncio.wait_for(socket.recv(), 10))["type"] == "PONG"
        async with httpx.AsyncClient(base_url=platform.endpoints.auth) as http:
            reply = await http.post("/v1/auth/logout", headers=bearer)
            reply.raise_for_status()

        assert await close_code(socket) == 4401
    async with connect(platform.endpoints.socket, additional_headers=bearer) as again:
        assert await close_code(again) == 4401


async def test_a_browser_from_elsewhere_is_turned_away_before_it_speaks(platform, account):
    url = f"{platform.endpoints.socket}?ticket={await account.ticket()}"

    with pytest.raises(InvalidStatus) as refused:
        await connect(url, origin="https://evil.example")

    assert refused.value.response.status_code == 403


async def test_malformed_and_oversized_frames_are_answered_and_change_nothing(platform, account):
    url = f"{platform.endpoints.socket}?ticket={await account.ticket()}"
    async with connect(url) as socket:
        for text in ("{", "[]", '{"type": 1}', json.dumps({"type": "X", "pad": "x" * 20_000})):
            await socket.send(text)
            answer = json.loads(await asyncio.wait_for(socket.recv(), 10))
            assert (answer["type"], answer["code"]) == ("ERROR", "ERR_INVALID_REQUEST")

        await socket.send(json.dumps({"version": 1, "type": "PING"}))
        assert json.loads(await asyncio.wait_for(socket.recv(), 10))["type"] == "PONG"
