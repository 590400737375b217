from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import asyncpg
import httpx

from shared.ids import new_id

Json = dict[str, Any]
SignUp = Callable[..., Awaitable[Json]]
Admin: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Eventually = Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]]


async def age(admin: Admin, player: Json, days: int) -> None:
    """Let a player's session have expired this many days ago."""
    ended = datetime.now(UTC) - timedelta(days=days)
    await admin.execute(
        "update session set created_at = $2, expires_at = $3 where id = $1",
        player["session_id"], ended - timedelta(days=90), ended,
    )  # fmt: skip


async def test_long_dead_sessions_go_with_all_their_tokens(
    sign_up: SignUp, admin: Admin, eventually: Eventually
) -> None:
    dead, recent = await sign_up(), await sign_up()
    await age(admin, dead, 8)
    await age(admin, recent, 6)

    async def is_gone() -> bool:
        return not await admin.fetchval("select 1 from session where id = $1", dead["session_id"])

    await eventually(is_gone)
    assert not await admin.fetch(
        "select 1 from refresh_token where session_id = $1", dead["session_id"]
    )
    assert await admin.fetchval("select 1 from session where id = $1", recent["session_id"])
    player_id = dead["player"]["player_id"]
    assert await admin.fetchval("select 1 from player where id = $1", player_id)


async def test_expired_tokens_go_while_their_session_lives_on(
    api: httpx.AsyncClient, sign_up: SignUp, admin: Admin, eventually: Eventually
) -> None:
    bob = await sign_up()
    await api.post("/v1/auth/refresh", json={"refresh_token": bob["refresh_token"]})
    await admin.execute(
        """
        update refresh_token set issued_at = now() - interval '40 days',
          expires_at = now() - interval '8 days'
        where session_id = $1 and replaced_at is not null
        """,
        bob["session_id"],
    )

    async def is_one_left() -> bool:
        left = await admin.fetchval(
            "select count(*) from refresh_token where session_id = $1", bob["session_id"]
        )
        return bool(left == 1)

    await eventually(is_one_left)


async def test_idempotency_keys_are_forgotten_after_a_day(
    api: httpx.AsyncClient, admin: Admin, eventually: Eventually
) -> None:
    await api.post("/v1/auth/guest", headers={"Idempotency-Key": str(new_id())})
    await admin.execute("update idempotency_key set created_at = now() - interval '25 hours'")

    async def are_gone() -> bool:
        return not await admin.fetch(
            "select 1 from idempotency_key where created_at < now() - interval '24 hours'"
        )

    await eventually(are_gone)


async def test_every_revocation_is_announced_once_more(
    api: httpx.AsyncClient, sign_up: SignUp, admin: Admin, eventually: Eventually
) -> None:
    bob = await sign_up()
    await api.post("/v1/auth/logout", headers=bob["bearer"])

    async def is_announced() -> bool:
        return bool(
            await admin.fetchval(
                "select announced_at is not null from session where id = $1", bob["session_id"]
            )
        )

    await eventually(is_announced)
