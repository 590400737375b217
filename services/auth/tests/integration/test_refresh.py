import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias
from uuid import UUID

import asyncpg
import httpx
import pytest

Json = dict[str, Any]
SignUp = Callable[..., Awaitable[Json]]
Admin: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


class Gateway(Protocol):
    async def hears_of(self, session_id: UUID) -> bool: ...


async def refresh(api: httpx.AsyncClient, token: str) -> httpx.Response:
    return await api.post("/v1/auth/refresh", json={"refresh_token": token})


async def let_pass(admin: Admin, session_id: UUID, seconds: float) -> None:
    """Move everything about a session into the past."""
    await admin.execute(
        """
        update refresh_token set issued_at = issued_at - $2 * interval '1 second',
          expires_at = expires_at - $2 * interval '1 second',
          replaced_at = replaced_at - $2 * interval '1 second'
        where session_id = $1
        """,
        session_id, seconds,
    )  # fmt: skip
    await admin.execute(
        """
        update session set created_at = created_at - $2 * interval '1 second',
          expires_at = expires_at - $2 * interval '1 second'
        where id = $1
        """,
        session_id, seconds,
    )  # fmt: skip


async def test_a_refresh_token_is_exchanged_for_a_new_pair(
    api: httpx.AsyncClient, sign_up: SignUp
) -> None:
    bob = await sign_up()

    first = await refresh(api, bob["refresh_token"])
    second = await refresh(api, first.json()["refresh_token"])

    assert (first.status_code, second.status_code) == (200, 200)
    assert second.json()["player"] == bob["player"]
    tokens = {bob["refresh_token"], first.json()["refresh_token"], second.json()["refresh_token"]}
    assert len(tokens) == 3
    bearer = {"Authorization": f"Bearer {second.json()['access_token']}"}
    assert (await api.get("/v1/players/me", headers=bearer)).status_code == 200


async def test_a_lost_reply_is_made_up_for_within_the_grace(
    api: httpx.AsyncClient, sign_up: SignUp
) -> None:
    bob = await sign_up()

    replies = await asyncio.gather(*(refresh(api, bob["refresh_token"]) for _ in range(4)))

    assert [reply.status_code for reply in replies] == [200] * 4
    for reply in replies:
        assert (await refresh(api, reply.json()["refresh_token"])).status_code == 200


async def test_a_token_used_again_after_the_grace_ends_the_session(
    api: httpx.AsyncClient, sign_up: SignUp, admin: Admin, gateway: Gateway
) -> None:
    bob = await sign_up()
    newest = (await refresh(api, bob["refresh_token"])).json()
    await let_pass(admin, bob["session_id"], 11)

    stolen = await refresh(api, bob["refresh_token"])

    assert (stolen.status_code, stolen.json()["code"]) == (401, "ERR_SESSION_REVOKED")
    assert await gateway.hears_of(bob["session_id"])
    for token in (newest["refresh_token"], bob["refresh_token"]):
        reply = await refresh(api, token)
        assert (reply.status_code, reply.json()["code"]) == (401, "ERR_SESSION_REVOKED")
    reply = await api.get("/v1/players/me", headers=bob["bearer"])
    assert (reply.status_code, reply.json()["code"]) == (401, "ERR_SESSION_REVOKED")


async def test_repeating_does_not_stretch_the_grace(
    api: httpx.AsyncClient, sign_up: SignUp, admin: Admin
) -> None:
    bob = await sign_up()
    await refresh(api, bob["refresh_token"])
    await let_pass(admin, bob["session_id"], 6)
    within = await refresh(api, bob["refresh_token"])
    await let_pass(admin, bob["session_id"], 6)

    after = await refresh(api, bob["refresh_token"])

    assert (within.status_code, after.status_code) == (200, 401)


async def test_another_session_of_the_same_player_lives_on(
    api: httpx.AsyncClient, sign_up: SignUp, admin: Admin
) -> None:
    bob = await sign_up()
    other = await api.post(
        "/v1/auth/login", json={"email": bob["email"], "password": bob["password"]}
    )
    await refresh(api, bob["refresh_token"])
    await let_pass(admin, bob["session_id"], 11)
    await refresh(api, bob["refresh_token"])

    assert (await refresh(api, other.json()["refresh_token"])).status_code == 200


@pytest.mark.parametrize("pauses", [[31], [29, 29, 29, 4]], ids=["unused", "always used"])
async def test_an_old_token_and_an_old_session_expire(
    api: httpx.AsyncClient, sign_up: SignUp, admin: Admin, pauses: list[int]
) -> None:
    bob = await sign_up()
    token = bob["refresh_token"]
    for days in pauses[:-1]:
        await let_pass(admin, bob["session_id"], days * 86_400)
        token = (await refresh(api, token)).json()["refresh_token"]
    await let_pass(admin, bob["session_id"], pauses[-1] * 86_400)

    reply = await refresh(api, token)

    assert (reply.status_code, reply.json()["code"]) == (401, "ERR_TOKEN_EXPIRED")


async def test_an_ended_session_has_no_more_api_calls(
    api: httpx.AsyncClient, sign_up: SignUp, admin: Admin
) -> None:
    bob = await sign_up()
    await let_pass(admin, bob["session_id"], 91 * 86_400)

    reply = await api.get("/v1/players/me", headers=bob["bearer"])

    assert (reply.status_code, reply.json()["code"]) == (401, "ERR_TOKEN_EXPIRED")


@pytest.mark.parametrize("token", ["", "x", "A" * 43, "\u20ac" * 10])
async def test_an_unknown_token_is_refused(api: httpx.AsyncClient, token: str) -> None:
    reply = await refresh(api, token)

    assert (reply.status_code, reply.json()["code"]) == (401, "ERR_UNAUTHORIZED")


@pytest.mark.parametrize("body", [{}, {"refresh_token": 1}, {"refresh_token": "x", "more": 1}])
async def test_bad_bodies_are_refused(api: httpx.AsyncClient, body: Json) -> None:
    reply = await api.post("/v1/auth/refresh", json=body)

    assert (reply.status_code, reply.json()["code"]) == (400, "ERR_INVALID_REQUEST")


async def test_tokens_are_stored_as_hashes_only(
    api: httpx.AsyncClient, sign_up: SignUp, admin: Admin
) -> None:
    bob = await sign_up()

    dump = str(await admin.fetch("select * from refresh_token"))

    assert bob["refresh_token"] not in dump
