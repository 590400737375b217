from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import argon2
import asyncpg
import httpx
import pytest

Json = dict[str, Any]
Admin: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
SignUp = Callable[..., Awaitable[Json]]


async def test_the_right_password_opens_another_session(
    api: httpx.AsyncClient, sign_up: SignUp
) -> None:
    bob = await sign_up()

    reply = await api.post(
        "/v1/auth/login", json={"email": bob["email"].upper(), "password": bob["password"]}
    )

    assert reply.status_code == 200
    assert reply.json()["player"] == bob["player"]
    sessions = await api.get("/v1/auth/sessions", headers=bob["bearer"])
    assert len(sessions.json()["sessions"]) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"password": "wrong horse"}, {"password": ""}, {"password": "x" * 500},
        {"email": "nobody@example.com"}, {"email": "not an address"}, {"email": ""},
    ],
)  # fmt: skip
async def test_every_wrong_pair_gets_the_same_answer(
    api: httpx.AsyncClient, sign_up: SignUp, change: Json
) -> None:
    bob = await sign_up()
    right = {"email": bob["email"], "password": bob["password"]}

    reply = await api.post("/v1/auth/login", json={**right, **change})

    assert (reply.status_code, reply.json()["code"]) == (401, "ERR_INVALID_CREDENTIALS")
    assert reply.json()["title"] == "Wrong e-mail or password."
    assert "details" not in reply.json()


async def test_unknown_fields_are_refused(api: httpx.AsyncClient) -> None:
    reply = await api.post(
        "/v1/auth/login", json={"email": "a@example.com", "password": "12345678", "otp": "1"}
    )

    assert (reply.status_code, reply.json()["code"]) == (400, "ERR_INVALID_REQUEST")


async def test_a_hash_with_old_parameters_is_renewed_at_login(
    api: httpx.AsyncClient, sign_up: SignUp, admin: Admin
) -> None:
    bob = await sign_up()
    old = argon2.PasswordHasher(time_cost=2, memory_cost=2048, parallelism=1).hash(bob["password"])
    await admin.execute(
        "update player set password_hash = $1 where email_key = $2", old, bob["email"]
    )
    body = {"email": bob["email"], "password": bob["password"]}

    async def stored() -> str:
        return str(
            await admin.fetchval(
                "select password_hash from player where email_key = $1", bob["email"]
            )
        )

    wrong = await api.post("/v1/auth/login", json={**body, "password": "wrong horse"})
    kept = await stored()
    right = await api.post("/v1/auth/login", json=body)
    renewed = await stored()
    again = await api.post("/v1/auth/login", json=body)

    assert (wrong.status_code, right.status_code, again.status_code) == (401, 200, 200)
    assert kept == old
    assert "$m=1024,t=1,p=1$" in renewed
    assert await stored() == renewed


async def test_bots_and_guests_cannot_log_in(api: httpx.AsyncClient, admin: Admin) -> None:
    await api.post("/v1/auth/guest")

    with_secrets = await admin.fetchval("""
        select count(*) from player
        where kind <> 'registered' and (password_hash is not null or email is not null)
    """)

    assert with_secrets == 0
