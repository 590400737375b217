from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from shared.ids import new_id

Json = dict[str, Any]
SignUp = Callable[..., Awaitable[Json]]


async def test_others_see_a_profile_without_the_email(
    api: httpx.AsyncClient, sign_up: SignUp
) -> None:
    bob, eve = await sign_up(nickname="Bob"), await sign_up()

    reply = await api.get(f"/v1/players/{bob['player']['player_id']}", headers=eve["bearer"])

    assert reply.json() == {
        "player_id": bob["player"]["player_id"], "nickname": "Bob", "kind": "registered",
    }  # fmt: skip


async def test_an_unknown_player_is_not_found(api: httpx.AsyncClient, sign_up: SignUp) -> None:
    bob = await sign_up()

    unknown = await api.get(f"/v1/players/{new_id()}", headers=bob["bearer"])
    malformed = await api.get("/v1/players/bob", headers=bob["bearer"])

    assert (unknown.status_code, malformed.status_code) == (404, 400)


async def test_a_player_can_change_his_nickname(api: httpx.AsyncClient, sign_up: SignUp) -> None:
    bob = await sign_up()

    reply = await api.patch("/v1/players/me", json={"nickname": " Robert "}, headers=bob["bearer"])

    assert reply.status_code == 200
    assert reply.json() == {**bob["player"], "nickname": "Robert"}
    assert (await api.get("/v1/players/me", headers=bob["bearer"])).json() == reply.json()


@pytest.mark.parametrize(
    "body",
    [{}, {"nickname": None}, {"nickname": "x"}, {"nickname": "a\u202eb"},
     {"nickname": "Bob", "role": "admin"}, {"email": "x@example.com"}],
)  # fmt: skip
async def test_bad_changes_are_refused(api: httpx.AsyncClient, sign_up: SignUp, body: Json) -> None:
    bob = await sign_up()

    reply = await api.patch("/v1/players/me", json=body, headers=bob["bearer"])

    assert (reply.status_code, reply.json()["code"]) == (400, "ERR_INVALID_REQUEST")
    assert (await api.get("/v1/players/me", headers=bob["bearer"])).json() == bob["player"]
