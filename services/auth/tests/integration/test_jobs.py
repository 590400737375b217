from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import asyncpg
import httpx
import pytest

from auth import store
from samovar.addresses import Addresses
from shared.db import Database
from shared.ids import new_id

Json = dict[str, Any]
SignUp = Callable[..., Awaitable[Json]]
Admin: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Eventually = Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]]


@pytest.fixture
async def db(infra: Addresses) -> AsyncIterator[Database]:
    """The tables as the service sees them."""
    db = Database.connect(infra.database_url("auth"), name="auth-tests", pool_size=1)
    yield db
    await db.close()


async def age(admin: Admin, player: Json, days: float) -> None:
    """Let a player's session and its tokens have expired this many days ago."""
    ended = datetime.now(UTC) - timedelta(days=days)
    for table, began_at, key in (
        ("refresh_token", "issued_at", "session_id"), ("session", "created_at", "id"),
    ):  # fmt: skip
        await admin.execute(
            f"update {table} set {began_at} = $2, expires_at = $3 where {key} = $1",
            player["session_id"], ended - timedelta(days=90), ended,
        )  # fmt: skip


async def add_tokens(admin: Admin, player: Json, count: int) -> None:
    await admin.execute(
        """
        insert into refresh_token (hash, session_id, issued_at, expires_at)
        select sha256(uuid_send(gen_random_uuid())), $1, now(), now() + interval '1 day'
        from generate_series(1, $2)
        """,
        player["session_id"], count,
    )  # fmt: skip


async def tokens_of(admin: Admin, player: Json) -> int:
    return int(
        await admin.fetchval(
            "select count(*) from refresh_token where session_id = $1", player["session_id"]
        )
    )


async def has_session(admin: Admin, player: Json) -> bool:
    return bool(await admin.fetchval("select 1 from session where id = $1", player["session_id"]))


async def test_long_dead_sessions_go_with_all_their_tokens(
    sign_up: SignUp, admin: Admin, eventually: Eventually
) -> None:
    dead, recent = await sign_up(), await sign_up()
    await add_tokens(admin, dead, store.PURGE_BATCH + 1)
    await age(admin, dead, 8)
    await age(admin, recent, 6)

    async def is_gone() -> bool:
        return not await has_session(admin, dead)

    await eventually(is_gone)
    assert await tokens_of(admin, dead) == 0
    assert await has_session(admin, recent)
    player_id = dead["player"]["player_id"]
    assert await admin.fetchval("select 1 from player where id = $1", player_id)


async def test_no_statement_of_the_purge_deletes_more_than_a_batch(
    sign_up: SignUp, admin: Admin, db: Database
) -> None:
    """A session of years has more tokens than one statement can delete in its time."""
    dead = await sign_up()
    await add_tokens(admin, dead, 2 * store.PURGE_BATCH)
    await age(admin, dead, 1)  # too young for the service's own sweeper
    before = datetime.now(UTC) - timedelta(hours=12)

    await db.run(lambda tx: store.purge_sessions(tx, before))
    was_there = await has_session(admin, dead), await tokens_of(admin, dead)
    batches = [await db.run(lambda tx: store.purge_refresh_tokens(tx, before)) for _ in range(3)]
    await db.run(lambda tx: store.purge_sessions(tx, before))

    assert was_there == (True, 2 * store.PURGE_BATCH + 1)
    assert batches[:2] == [store.PURGE_BATCH] * 2
    assert not await has_session(admin, dead)


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
        return await tokens_of(admin, bob) == 1

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
