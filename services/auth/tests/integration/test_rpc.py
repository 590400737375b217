import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias
from uuid import UUID

import asyncpg
import httpx
import pytest

from shared.bus import Bus
from shared.contracts import auth as contract
from shared.contracts.auth import PlayerKind, Role
from shared.errors import AppError, TokenExpired, Unauthorized
from shared.ids import bot_id, new_id
from shared.tokens import TokenVerifier

Json = dict[str, Any]
Admin: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
SignUp = Callable[..., Awaitable[Json]]
Connect = Callable[[str], Awaitable[Bus]]


@pytest.fixture
async def realtime(connect_bus: Connect, api: httpx.AsyncClient) -> Bus:
    """The gateway's connection; ``api`` sees to it that auth runs."""
    return await connect_bus("realtime")


async def redeem(bus: Bus, ticket: str) -> contract.Identity:
    return await bus.call(contract.REDEEM_TICKET, contract.RedeemTicket(ticket=ticket))


async def ticket_of(api: httpx.AsyncClient, player: Json) -> str:
    reply = await api.post("/v1/ws/ticket", headers=player["bearer"])
    assert reply.status_code == 200
    assert reply.json()["expires_in"] == 30
    return str(reply.json()["ticket"])


async def test_a_ticket_names_the_player_and_lasts_as_long_as_the_session(
    api: httpx.AsyncClient, sign_up: SignUp, realtime: Bus
) -> None:
    bob = await sign_up()

    identity = await redeem(realtime, await ticket_of(api, bob))

    assert str(identity.player_id) == bob["player"]["player_id"]
    assert identity.session_id == bob["session_id"]
    assert identity.role is Role.PLAYER
    assert identity.expires_at > datetime.now(UTC) + timedelta(days=89)


async def test_a_ticket_is_good_once_however_many_try_at_a_time(
    api: httpx.AsyncClient, sign_up: SignUp, realtime: Bus
) -> None:
    ticket = await ticket_of(api, await sign_up())

    async def attempt() -> str:
        try:
            await redeem(realtime, ticket)
        except AppError as error:
            return error.code
        return "OK"

    outcomes = await asyncio.gather(*(attempt() for _ in range(20)))

    assert sorted(outcomes) == [*["ERR_UNAUTHORIZED"] * 19, "OK"]


@pytest.mark.parametrize("ticket", ["", "x", "A" * 43])
async def test_an_unknown_ticket_is_refused(realtime: Bus, ticket: str) -> None:
    with pytest.raises(Unauthorized):
        await redeem(realtime, ticket)


async def test_a_ticket_of_an_ended_session_is_refused(
    api: httpx.AsyncClient,
    sign_up: SignUp,
    realtime: Bus,
    admin: Admin,
) -> None:
    revoked, expired = await sign_up(), await sign_up()
    tickets = [await ticket_of(api, player) for player in (revoked, expired)]
    await api.post("/v1/auth/logout", headers=revoked["bearer"])
    await admin.execute(
        "update session set created_at = $2, expires_at = $3 where id = $1",
        expired["session_id"],
        datetime.now(UTC) - timedelta(days=91),
        datetime.now(UTC) - timedelta(days=1),
    )

    with pytest.raises(Unauthorized):
        await redeem(realtime, tickets[0])
    with pytest.raises(TokenExpired):
        await redeem(realtime, tickets[1])


async def test_access_tokens_verify_offline_with_the_published_keys(
    api: httpx.AsyncClient, sign_up: SignUp, realtime: Bus
) -> None:
    bob = await sign_up()
    served = await realtime.call(contract.GET_JWKS, contract.Empty())
    published = await api.get("/.well-known/jwks.json")

    async def fetch() -> tuple[dict[str, Any], ...]:
        return served.keys

    identity = await TokenVerifier(fetch, lambda: 0.0).verify(bob["access_token"])

    assert str(identity.player_id) == bob["player"]["player_id"]
    assert published.json() == {"keys": list(served.keys)}
    assert "max-age" in published.headers["cache-control"]


async def test_profiles_of_unknown_ids_are_left_out(sign_up: SignUp, connect_bus: Connect) -> None:
    lobby = await connect_bus("lobby")
    bob = await sign_up(nickname="Bob")
    player_id = UUID(bob["player"]["player_id"])

    found = await lobby.call(
        contract.GET_PROFILES, contract.GetProfiles(player_ids=(player_id, new_id(), player_id))
    )

    assert found.profiles == (
        contract.Profile(player_id=player_id, nickname="Bob", kind=PlayerKind.REGISTERED),
    )


async def test_sixteen_bots_are_there_from_the_start(
    connect_bus: Connect, api: httpx.AsyncClient
) -> None:
    lobby = await connect_bus("lobby")

    found = await lobby.call(contract.LIST_BOTS, contract.Empty())

    assert {bot.player_id for bot in found.profiles} == {bot_id(number) for number in range(16)}
    assert {bot.kind for bot in found.profiles} == {PlayerKind.BOT}


async def test_a_gateway_learns_what_was_revoked_while_it_was_away(
    api: httpx.AsyncClient, sign_up: SignUp, realtime: Bus
) -> None:
    before, ended, alive = await sign_up(), await sign_up(), await sign_up()
    since = datetime.now(UTC) - timedelta(seconds=1)
    await api.post("/v1/auth/logout", headers=ended["bearer"])

    async def ask(moment: datetime) -> contract.RevokedSessions:
        return await realtime.call(contract.LIST_REVOKED, contract.ListRevoked(since=moment))

    found = await ask(since)
    later = await ask(datetime.now(UTC) + timedelta(seconds=1))

    assert ended["session_id"] in found.session_ids
    assert not {before["session_id"], alive["session_id"]} & set(found.session_ids)
    assert later.session_ids == ()
    await api.post("/v1/auth/logout", headers=alive["bearer"])
    assert alive["session_id"] in (await ask(found.as_of)).session_ids
