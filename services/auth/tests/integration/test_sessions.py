from collections.abc import Awaitable, Callable
from typing import Any, Protocol
from uuid import UUID

import httpx
import pytest

from shared.ids import new_id
from tests.forked import ForkedService

Json = dict[str, Any]
SignUp = Callable[..., Awaitable[Json]]

NOBODY = UUID(int=7)


class Gateway(Protocol):
    async def hears_of(self, session_id: UUID) -> bool: ...


async def test_sessions_are_listed_with_the_current_one_marked(
    api: httpx.AsyncClient, sign_up: SignUp
) -> None:
    bob = await sign_up()
    await api.post(
        "/v1/auth/login",
        json={"email": bob["email"], "password": bob["password"]},
        headers={"User-Agent": "Telephone/1"},
    )

    reply = await api.get("/v1/auth/sessions", headers=bob["bearer"])

    sessions = reply.json()["sessions"]
    assert [session["is_current"] for session in sessions] == [False, True]
    assert sessions[0]["user_agent"] == "Telephone/1"
    assert sessions[1]["session_id"] == str(bob["session_id"])


async def test_logging_out_ends_the_session_and_closes_its_sockets(
    api: httpx.AsyncClient, sign_up: SignUp, gateway: Gateway
) -> None:
    bob = await sign_up()

    reply = await api.post("/v1/auth/logout", headers=bob["bearer"])

    assert (reply.status_code, reply.content) == (204, b"")
    assert await gateway.hears_of(bob["session_id"])
    again = await api.post("/v1/auth/logout", headers=bob["bearer"])
    assert (again.status_code, again.json()["code"]) == (401, "ERR_SESSION_REVOKED")
    refreshed = await api.post("/v1/auth/refresh", json={"refresh_token": bob["refresh_token"]})
    assert (refreshed.status_code, refreshed.json()["code"]) == (401, "ERR_SESSION_REVOKED")


async def test_another_device_can_be_signed_out(
    api: httpx.AsyncClient, sign_up: SignUp, gateway: Gateway
) -> None:
    bob = await sign_up()
    phone = await api.post(
        "/v1/auth/login", json={"email": bob["email"], "password": bob["password"]}
    )
    bearer = {"Authorization": f"Bearer {phone.json()['access_token']}"}

    url = f"/v1/auth/sessions/{bob['session_id']}"
    assert (await api.delete(url, headers=bearer)).status_code == 204
    assert (await api.delete(url, headers=bearer)).status_code == 204  # a repetition

    assert await gateway.hears_of(bob["session_id"])
    assert (await api.get("/v1/players/me", headers=bob["bearer"])).status_code == 401
    listed = await api.get("/v1/auth/sessions", headers=bearer)
    assert [session["is_current"] for session in listed.json()["sessions"]] == [True]


async def test_somebody_elses_session_is_as_good_as_none(
    api: httpx.AsyncClient, sign_up: SignUp
) -> None:
    bob, eve = await sign_up(), await sign_up()

    others = await api.delete(f"/v1/auth/sessions/{bob['session_id']}", headers=eve["bearer"])
    unknown = await api.delete(f"/v1/auth/sessions/{new_id()}", headers=eve["bearer"])
    malformed = await api.delete("/v1/auth/sessions/7", headers=eve["bearer"])

    assert (others.status_code, unknown.status_code, malformed.status_code) == (404, 404, 400)
    assert others.json()["title"] == unknown.json()["title"]
    assert (await api.get("/v1/players/me", headers=bob["bearer"])).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/auth/logout"), ("GET", "/v1/auth/sessions"),
        ("DELETE", f"/v1/auth/sessions/{NOBODY}"), ("POST", "/v1/ws/ticket"),
        ("GET", "/v1/players/me"), ("PATCH", "/v1/players/me"), ("GET", f"/v1/players/{NOBODY}"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("header", [None, "Bearer x", "Bearer a.b.c", "Basic eDp5", "x"])
async def test_nothing_opens_without_a_token(
    api: httpx.AsyncClient, method: str, path: str, header: str | None
) -> None:
    headers = {} if header is None else {"Authorization": header}
    body = {"nickname": "Bob"} if method == "PATCH" else None

    reply = await api.request(method, path, headers=headers, json=body)

    assert (reply.status_code, reply.json()["code"]) == (401, "ERR_UNAUTHORIZED")


async def test_an_expired_access_token_is_told_apart(
    sign_up: SignUp,
    start_auth: Callable[..., ForkedService],
    client_of: Callable[[ForkedService], httpx.AsyncClient],
    eventually: Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]],
) -> None:
    bob = await sign_up()
    api = client_of(start_auth(ACCESS_TOKEN_TTL_S=1))
    granted = await api.post("/v1/auth/refresh", json={"refresh_token": bob["refresh_token"]})
    bearer = {"Authorization": f"Bearer {granted.json()['access_token']}"}

    async def is_expired() -> bool:
        reply = await api.get("/v1/players/me", headers=bearer)
        return reply.status_code == 401 and reply.json()["code"] == "ERR_TOKEN_EXPIRED"

    await eventually(is_expired)


async def test_a_death_between_commit_and_push_is_made_up_for(
    sign_up: SignUp,
    gateway: Gateway,
    start_auth: Callable[..., ForkedService],
    client_of: Callable[[ForkedService], httpx.AsyncClient],
    eventually: Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]],
) -> None:
    bob = await sign_up()
    # Its own sweeper is too slow to help: another replica's has to.
    mortal = start_auth(SAMOVAR_FAILPOINT="auth.session_revoked", SWEEP_INTERVAL_S=1000)

    with pytest.raises(httpx.TransportError):
        await client_of(mortal).post("/v1/auth/logout", headers=bob["bearer"])

    assert await gateway.hears_of(bob["session_id"])

    async def is_dead() -> bool:
        return not mortal.is_alive()

    await eventually(is_dead)
