import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import asyncpg
import httpx
import pytest

from shared.ids import new_id

Json = dict[str, Any]
Admin: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
SignUp = Callable[..., Awaitable[Json]]


def body_of(**fields: object) -> Json:
    person = {"email": f"{new_id()}@example.com", "password": "correct horse", "nickname": "Bob"}
    return {**person, **fields}


def key() -> dict[str, str]:
    return {"Idempotency-Key": str(new_id())}


async def test_signing_up_makes_a_player_and_signs_him_in(api: httpx.AsyncClient) -> None:
    body = body_of(nickname="  Анна ", email=f"Anna.{new_id()}@Example.com")

    reply = await api.post("/v1/auth/signup", json=body)

    assert reply.status_code == 201
    assert reply.headers["cache-control"] == "no-store"
    granted = reply.json()
    assert granted["expires_in"] == 900
    assert granted["player"]["nickname"] == "Анна"
    assert granted["player"]["kind"] == "registered"
    assert granted["player"]["role"] == "player"
    me = await api.get(
        "/v1/players/me", headers={"Authorization": f"Bearer {granted['access_token']}"}
    )
    assert me.json() == granted["player"]


@pytest.mark.parametrize(
    "change",
    [
        {"email": "nobody"}, {"email": None}, {"email": 7}, {"email": "x" * 250 + "@example.com"},
        {"email": "a\ud800@example.com"},
        {"password": "1234567"}, {"password": "x" * 129}, {"password": ["12345678"]},
        {"password": "1234567\ud800"}, {"password": "x" * 5000},
        {"nickname": "a"}, {"nickname": "x" * 25}, {"nickname": "a\u0000b"}, {"nickname": ""},
        {"nickname": "a\ud800b"},
        {"role": "admin"}, {"kind": "bot"}, {"player_id": "x"},
    ],
)  # fmt: skip
async def test_bad_fields_are_refused_and_named(api: httpx.AsyncClient, change: Json) -> None:
    reply = await api.post(
        "/v1/auth/signup",
        content=json.dumps(body_of(**change)),
        headers={"Content-Type": "application/json"},
    )

    assert (reply.status_code, reply.json()["code"]) == (400, "ERR_INVALID_REQUEST")
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json()["details"]["fields"][0].removeprefix("body.") in change


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'"x"', b"\xff\xfe", b"null", b'{"\\ud800": 1}']
)
async def test_what_is_no_object_is_refused(api: httpx.AsyncClient, content: bytes) -> None:
    reply = await api.post(
        "/v1/auth/signup", content=content, headers={"Content-Type": "application/json"}
    )

    assert (reply.status_code, reply.json()["code"]) == (400, "ERR_INVALID_REQUEST")


async def test_an_email_has_one_account_however_it_is_spelled(
    api: httpx.AsyncClient, sign_up: SignUp
) -> None:
    first = await sign_up(email=f"bob.{new_id()}@example.com")

    reply = await api.post("/v1/auth/signup", json=body_of(email=first["email"].upper()))

    assert (reply.status_code, reply.json()["code"]) == (409, "ERR_EMAIL_TAKEN")


async def test_parallel_sign_ups_of_one_email_make_one_account(
    api: httpx.AsyncClient, admin: Admin
) -> None:
    email = f"{new_id()}@example.com"

    replies = await asyncio.gather(
        *(api.post("/v1/auth/signup", json=body_of(email=email)) for _ in range(8))
    )

    assert sorted(reply.status_code for reply in replies) == [201, *[409] * 7]
    assert await admin.fetchval("select count(*) from player where email_key = $1", email) == 1


async def test_the_same_key_and_content_give_the_same_account(api: httpx.AsyncClient) -> None:
    body, header = body_of(), key()

    first = await api.post("/v1/auth/signup", json=body, headers=header)
    again = await api.post("/v1/auth/signup", json=body, headers=header)

    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json()["player"] == again.json()["player"]
    assert first.json()["refresh_token"] != again.json()["refresh_token"]
    bearer = {"Authorization": f"Bearer {again.json()['access_token']}"}
    sessions = await api.get("/v1/auth/sessions", headers=bearer)
    assert len(sessions.json()["sessions"]) == 1
    for reply in (first, again):
        refreshed = await api.post(
            "/v1/auth/refresh", json={"refresh_token": reply.json()["refresh_token"]}
        )
        assert refreshed.status_code == 200


async def test_parallel_calls_with_one_key_make_one_account(api: httpx.AsyncClient) -> None:
    body, header = body_of(), key()

    replies = await asyncio.gather(
        *(api.post("/v1/auth/signup", json=body, headers=header) for _ in range(5))
    )

    assert [reply.status_code for reply in replies] == [201] * 5
    assert len({reply.json()["player"]["player_id"] for reply in replies}) == 1


@pytest.mark.parametrize("field", ["email", "password", "nickname"])
async def test_the_same_key_with_other_content_is_refused(
    api: httpx.AsyncClient, field: str
) -> None:
    body, header = body_of(), key()
    other = {"email": "other@example.com", "password": "other horse", "nickname": "Other"}[field]
    await api.post("/v1/auth/signup", json=body, headers=header)

    reply = await api.post("/v1/auth/signup", json={**body, field: other}, headers=header)

    assert (reply.status_code, reply.json()["code"]) == (409, "ERR_IDEMPOTENCY_MISMATCH")


async def test_a_refused_sign_up_does_not_use_up_its_key(
    api: httpx.AsyncClient, sign_up: SignUp
) -> None:
    taken, header = await sign_up(), key()
    refused = await api.post("/v1/auth/signup", json=body_of(email=taken["email"]), headers=header)

    reply = await api.post("/v1/auth/signup", json=body_of(), headers=header)

    assert refused.status_code == 409
    assert reply.status_code == 201


async def test_a_key_is_no_way_back_into_an_ended_session(api: httpx.AsyncClient) -> None:
    body, header = body_of(), key()
    granted = (await api.post("/v1/auth/signup", json=body, headers=header)).json()
    await api.post(
        "/v1/auth/logout", headers={"Authorization": f"Bearer {granted['access_token']}"}
    )

    reply = await api.post("/v1/auth/signup", json=body, headers=header)

    assert (reply.status_code, reply.json()["code"]) == (401, "ERR_SESSION_REVOKED")


async def test_a_key_that_could_be_guessed_is_refused(api: httpx.AsyncClient) -> None:
    reply = await api.post("/v1/auth/signup", json=body_of(), headers={"Idempotency-Key": "1"})

    assert (reply.status_code, reply.json()["code"]) == (400, "ERR_INVALID_REQUEST")


async def test_neither_password_nor_key_is_stored_in_the_clear(
    api: httpx.AsyncClient, admin: Admin
) -> None:
    body, header = body_of(password="swordfish swordfish"), key()
    await api.post("/v1/auth/signup", json=body, headers=header)

    for table in ("player", "session", "refresh_token", "idempotency_key"):
        dump = str(await admin.fetch(f"select t::text from {table} t"))
        assert "swordfish" not in dump
        assert header["Idempotency-Key"] not in dump
