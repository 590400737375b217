import secrets
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from shared.ids import new_id
from tests.forked import ForkedService

Json = dict[str, Any]


@pytest.fixture(scope="module")
def limited_process(start_auth: Callable[..., ForkedService]) -> ForkedService:
    """A replica with small limits."""
    return start_auth(
        SIGNUPS_PER_MINUTE=2, LOGINS_PER_MINUTE=4, GUESTS_PER_MINUTE=2, REFRESHES_PER_MINUTE=2,
        LOGINS_PER_EMAIL_PER_MINUTE=2, LOGINS_PER_EMAIL_EVERYWHERE_PER_MINUTE=5,
        TICKETS_PER_MINUTE=2,
    )  # fmt: skip


@pytest.fixture
def limited(
    limited_process: ForkedService,
    client_of: Callable[[ForkedService], httpx.AsyncClient],
) -> httpx.AsyncClient:
    return client_of(limited_process)


def some_address() -> dict[str, str]:
    return {"X-Forwarded-For": "10." + ".".join(str(secrets.randbelow(256)) for _ in range(3))}


def person() -> Json:
    return {"email": f"{new_id()}@example.com", "password": "12345678", "nickname": "Bob"}


async def test_each_address_has_its_own_limits(limited: httpx.AsyncClient) -> None:
    here, there = some_address(), some_address()
    for path, make in (
        ("/v1/auth/signup", person),
        ("/v1/auth/guest", dict),
        ("/v1/auth/refresh", lambda: {"refresh_token": "x"}),
    ):
        replies = [await limited.post(path, json=make(), headers=here) for _ in range(3)]
        other = await limited.post(path, json=make(), headers=there)

        assert replies[1].status_code != 429
        assert (replies[2].status_code, replies[2].json()["code"]) == (429, "ERR_RATE_LIMITED")
        assert replies[2].json()["details"]["retry_after_s"] > 0
        assert other.status_code != 429


async def guess(limited: httpx.AsyncClient, email: str, address: dict[str, str]) -> int:
    body = {"email": email, "password": "a guess"}
    return (await limited.post("/v1/auth/login", json=body, headers=address)).status_code


async def test_guessing_at_one_email_from_one_address_is_limited(
    limited: httpx.AsyncClient,
) -> None:
    email, here = f"{new_id()}@example.com", some_address()

    assert [await guess(limited, email, here) for _ in range(3)] == [401, 401, 429]


async def test_somebody_elses_guesses_do_not_lock_the_owner_out(
    limited: httpx.AsyncClient,
) -> None:
    owner = person()
    await limited.post("/v1/auth/signup", json=owner, headers=some_address())
    elsewhere = some_address()
    # What one address is refused does not count for the others.
    guesses = [await guess(limited, owner["email"], elsewhere) for _ in range(4)]

    reply = await limited.post(
        "/v1/auth/login",
        json={"email": owner["email"], "password": owner["password"]},
        headers=some_address(),
    )

    assert guesses == [401, 401, 429, 429]
    assert reply.status_code == 200


async def test_guessing_at_one_email_from_many_addresses_is_limited_in_the_end(
    limited: httpx.AsyncClient,
) -> None:
    email = f"{new_id()}@example.com"

    replies = [await guess(limited, email, some_address()) for _ in range(6)]

    assert replies == [*[401] * 5, 429]


async def test_guessing_at_many_emails_is_limited_by_address(limited: httpx.AsyncClient) -> None:
    here = some_address()

    replies = [
        await limited.post(
            "/v1/auth/login",
            json={"email": f"{new_id()}@example.com", "password": "a guess"},
            headers=here,
        )
        for _ in range(5)
    ]

    assert [reply.status_code for reply in replies] == [*[401] * 4, 429]


async def test_an_address_that_a_client_claims_does_not_count(limited: httpx.AsyncClient) -> None:
    """The edge appends what it sees; only that last one is believed."""
    seen = some_address()["X-Forwarded-For"]

    replies = [
        await limited.post(
            "/v1/auth/guest",
            headers={"X-Forwarded-For": f"{some_address()['X-Forwarded-For']}, {seen}"},
        )
        for _ in range(3)
    ]

    assert [reply.status_code for reply in replies] == [201, 201, 429]


async def test_tickets_are_limited_by_player(limited: httpx.AsyncClient) -> None:
    guest = await limited.post("/v1/auth/guest", headers=some_address())
    bearer = {"Authorization": f"Bearer {guest.json()['access_token']}"}

    replies = [
        await limited.post("/v1/ws/ticket", headers={**bearer, **some_address()}) for _ in range(3)
    ]

    assert [reply.status_code for reply in replies] == [200, 200, 429]
