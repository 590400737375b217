import asyncio
from uuid import UUID

import httpx
import pytest

from shared.ids import new_id


async def test_a_guest_needs_nothing(api: httpx.AsyncClient) -> None:
    reply = await api.post("/v1/auth/guest")

    assert reply.status_code == 201
    player = reply.json()["player"]
    assert UUID(player["player_id"]).version == 7
    assert (player["kind"], player["role"], player["email"]) == ("guest", "guest", None)
    assert player["nickname"].startswith("Guest ")


async def test_a_guest_may_choose_a_name(api: httpx.AsyncClient) -> None:
    reply = await api.post("/v1/auth/guest", json={"nickname": "Саша"})

    assert reply.json()["player"]["nickname"] == "Саша"


@pytest.mark.parametrize("body", [{"nickname": "x"}, {"nickname": 1}, {"other": 1}, []])
async def test_bad_bodies_are_refused(api: httpx.AsyncClient, body: object) -> None:
    reply = await api.post("/v1/auth/guest", json=body)

    assert (reply.status_code, reply.json()["code"]) == (400, "ERR_INVALID_REQUEST")


async def test_a_repeated_call_with_one_key_makes_one_guest(api: httpx.AsyncClient) -> None:
    header = {"Idempotency-Key": str(new_id())}

    replies = await asyncio.gather(*(api.post("/v1/auth/guest", headers=header) for _ in range(5)))

    assert len({reply.json()["player"]["player_id"] for reply in replies}) == 1
    other = await api.post("/v1/auth/guest", json={"nickname": "Other"}, headers=header)
    assert (other.status_code, other.json()["code"]) == (409, "ERR_IDEMPOTENCY_MISMATCH")


async def test_a_key_of_a_guest_is_not_the_same_key_of_a_sign_up(api: httpx.AsyncClient) -> None:
    header = {"Idempotency-Key": str(new_id())}
    await api.post("/v1/auth/guest", headers=header)

    reply = await api.post(
        "/v1/auth/signup",
        json={"email": f"{new_id()}@example.com", "password": "12345678", "nickname": "Bob"},
        headers=header,
    )

    assert reply.status_code == 201
