import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from tests.forked import ForkedService

Json = dict[str, Any]
SignUp = Callable[..., Awaitable[Json]]


async def test_the_openapi_document_names_every_route_and_the_problem_body(
    api: httpx.AsyncClient,
) -> None:
    document = (await api.get("/v1/auth/openapi.json")).json()

    assert set(document["paths"]) == {
        "/v1/auth/signup", "/v1/auth/login", "/v1/auth/guest", "/v1/auth/refresh",
        "/v1/auth/logout", "/v1/auth/sessions", "/v1/auth/sessions/{session_id}",
        "/v1/ws/ticket", "/v1/players/me", "/v1/players/{player_id}", "/.well-known/jwks.json",
    }  # fmt: skip
    assert "422" not in json.dumps(document)
    assert "code" in document["components"]["schemas"]["Problem"]["properties"]


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json", "/v1/auth/nothing"])
async def test_an_unknown_path_is_a_problem_too(api: httpx.AsyncClient, path: str) -> None:
    reply = await api.get(path)

    assert reply.status_code == 404
    assert reply.headers["content-type"] == "application/problem+json"


async def test_a_wrong_method_is_a_problem_too(api: httpx.AsyncClient) -> None:
    reply = await api.get("/v1/auth/login")

    assert reply.status_code == 405
    assert reply.json()["code"] == "ERR_INVALID_REQUEST"


async def test_a_large_body_is_refused(api: httpx.AsyncClient) -> None:
    reply = await api.post("/v1/auth/guest", json={"nickname": "x" * 100_000})

    assert (reply.status_code, reply.json()["code"]) == (400, "ERR_INVALID_REQUEST")


async def test_logs_name_no_person_and_no_secret(
    api: httpx.AsyncClient, sign_up: SignUp, auth_process: ForkedService
) -> None:
    bob = await sign_up(password="a very private phrase")
    await api.post("/v1/auth/login", json={"email": bob["email"], "password": "another phrase"})
    await api.post("/v1/auth/login", json={"email": "bad address@", "password": "another phrase"})
    await api.post("/v1/auth/refresh", json={"refresh_token": bob["refresh_token"]})
    ticket = await api.post("/v1/ws/ticket", headers=bob["bearer"])
    await api.post("/v1/auth/logout", headers=bob["bearer"])

    written = auth_process.log.read_text()

    assert written
    for secret in (
        bob["email"], "bad address@", "phrase", bob["refresh_token"], bob["access_token"],
        ticket.json()["ticket"],
    ):  # fmt: skip
        assert secret not in written
