"""One running auth with cheap hashes and no limits in the way, and what tests do with it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import jwt
import pytest

from samovar.addresses import Addresses
from shared.bus import Bus
from shared.contracts.auth import SESSION_PUSH
from shared.ids import new_id
from tests.fixtures import infra_of_a_part
from tests.forked import ForkedService

infra = infra_of_a_part()

Json = dict[str, Any]
SignUp = Callable[..., Awaitable[Json]]
Connect = Callable[[str], Awaitable[Bus]]

# Everything a test wants to be fast; limits have their own tests.
FAST: dict[str, str | int | float] = {
    "SWEEP_INTERVAL_S": 0.2,
    "LOG_LEVEL": "DEBUG",
    "ARGON2_TIME_COST": 1,
    "ARGON2_MEMORY_KIB": 1024,
    "ARGON2_PARALLELISM": 1,
    **{
        f"{what}_PER_MINUTE": 1_000_000
        for what in (
            "SIGNUPS", "LOGINS", "GUESTS", "REFRESHES", "LOGINS_PER_EMAIL",
            "LOGINS_PER_EMAIL_EVERYWHERE", "TICKETS",
        )
    },
}  # fmt: skip


def url_of(process: ForkedService) -> str:
    return f"http://127.0.0.1:{process.ports['auth.http']}"


@pytest.fixture(scope="session")
def auth_process(infra: Addresses) -> Iterator[ForkedService]:
    process = ForkedService(infra, "auth", 1, **FAST)
    process.start()
    yield process
    process.stop()


@pytest.fixture(scope="session")
def start_auth(infra: Addresses) -> Iterator[Callable[..., ForkedService]]:
    """Start one more replica with other settings."""
    started: list[ForkedService] = []

    def start(**overrides: str | float) -> ForkedService:
        process = ForkedService(infra, "auth", 2 + len(started), **{**FAST, **overrides})
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        process.stop()


@pytest.fixture
async def api(auth_process: ForkedService) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=url_of(auth_process), timeout=20) as client:
        yield client


@pytest.fixture
async def client_of() -> AsyncIterator[Callable[[ForkedService], httpx.AsyncClient]]:
    """Make clients of other replicas."""
    clients: list[httpx.AsyncClient] = []

    def make(process: ForkedService) -> httpx.AsyncClient:
        clients.append(httpx.AsyncClient(base_url=url_of(process), timeout=20))
        return clients[-1]

    yield make
    for client in clients:
        await client.aclose()


@pytest.fixture
async def admin(infra: Addresses) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A superuser's connection, for moving time: triggers do not fire."""
    connection = await asyncpg.connect(
        infra.admin_url,
        server_settings={"search_path": "auth", "session_replication_role": "replica"},
    )
    yield connection
    await connection.close()


@pytest.fixture
def sign_up(api: httpx.AsyncClient) -> SignUp:
    """Register a player; returns the reply and what the tests need besides."""

    async def register(**fields: str) -> Json:
        body = {
            "email": f"{new_id()}@example.com", "password": "correct horse", "nickname": "Bob",
        } | fields  # fmt: skip
        reply = await api.post("/v1/auth/signup", json=body)
        assert reply.status_code == 201, reply.text
        granted: Json = reply.json()
        return {
            **granted, "email": body["email"], "password": body["password"],
            "bearer": bearer(granted["access_token"]), "session_id": session_of(granted),
        }  # fmt: skip

    return register


@pytest.fixture
async def connect_bus(infra: Addresses) -> AsyncIterator[Connect]:
    """Connect as another NATS user."""
    buses: list[Bus] = []

    async def connect(user: str) -> Bus:
        bus = await Bus.connect(infra.nats_url, user=user, password=infra.nats_password(user))
        buses.append(bus)
        return bus

    yield connect
    for bus in buses:
        await bus.drain()


class Gateway:
    """What a gateway hears about ended sessions."""

    def __init__(self) -> None:
        self._heard: asyncio.Queue[UUID] = asyncio.Queue()

    async def hear(self, key: str, _: bytes) -> None:
        await self._heard.put(UUID(key))

    async def hears_of(self, session_id: UUID) -> bool:
        """Wait until the end of this session is announced."""
        async with asyncio.timeout(10):
            while await self._heard.get() != session_id:
                pass
        return True


@pytest.fixture
async def gateway(connect_bus: Connect) -> Gateway:
    heard = Gateway()
    bus = await connect_bus("realtime")
    await bus.watch(SESSION_PUSH, None, heard.hear)
    await bus.client.flush()
    return heard


def session_of(granted: Json) -> UUID:
    """Read the session's id from an access token."""
    claims = jwt.decode(granted["access_token"], options={"verify_signature": False})
    return UUID(claims["sid"])


def bearer(access_token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {access_token}"}


@pytest.fixture
def eventually() -> Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]]:
    """Wait until a condition holds; it is asked again and again, for ten seconds at most."""

    async def wait(condition: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(10):
            while not await condition():  # noqa: ASYNC110  # another process changes it
                await asyncio.sleep(0.05)

    return wait
