"""One gateway in this process, with real sockets, between fake partners."""

import asyncio
import contextlib
import json
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self
from uuid import UUID, uuid4

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from realtime.app import compose
from realtime.settings import Settings
from samovar.addresses import Addresses
from services.realtime.tests.integration.fake_engine import FakeEngine
from services.realtime.tests.integration.fakes import FakeAuth, FakeEconomy, FakeLobby
from shared import lifecycle
from shared.contracts.auth import Identity

ORIGIN = "https://samovar.example"
WAIT_S = 10.0

FAST: dict[str, Any] = {
    "public_origins": ORIGIN,
    "resync_interval_s": 0.3,
    "revoked_reload_s": 0.5,
    "act_timeout_s": 0.3,
    "act_patience_s": 3.0,
    "ask_patience_s": 3.0,
    "seats_per_minute": 1000,
    "restart_spread_ms": 200,
}

Frame = dict[str, Any]


async def until(
    condition: Callable[[], object | Awaitable[object]], timeout_s: float = WAIT_S
) -> None:
    """Wait for something that will be true soon."""
    async with asyncio.timeout(timeout_s):
        while True:
            answer = condition()
            if await answer if isinstance(answer, Awaitable) else answer:
                return
            await asyncio.sleep(0.005)


class Client:
    """A WebSocket client that keeps every frame it got."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.frames: list[Frame] = []
        self._taken = 0

    async def say(self, type_: str, **fields: Any) -> str:
        """Send a message; return its request id."""
        request_id = str(fields.pop("request_id", uuid4()))
        whole = {"version": 1, "request_id": request_id, "type": type_, **fields}
        await self.socket.send(json.dumps(whole, default=str))
        return request_id

    async def next(self, *types: str, **fields: Any) -> Frame:
        """Return the next frame that has one of these types and these fields; drop the others."""
        async with asyncio.timeout(WAIT_S):
            while True:
                frame = json.loads(await self.socket.recv())
                self.frames.append(frame)
                wanted = {name: str(value) for name, value in fields.items()}
                if (not types or frame["type"] in types) and all(
                    str(frame.get(name)) == value for name, value in wanted.items()
                ):
                    return dict(frame)

    async def reply(self, request_id: str) -> Frame:
        return await self.next("ACTION_ACCEPTED", "ACTION_REJECTED", "ERROR", request_id=request_id)

    async def ask(self, type_: str, **fields: Any) -> Frame:
        """Send a message and return its reply."""
        return await self.reply(await self.say(type_, **fields))

    async def settle(self) -> None:
        """Wait until everything sent before has been answered."""
        request_id = await self.say("PING")
        await self.next("PONG", request_id=request_id)

    async def closed(self) -> int:
        """Read on to the end; return the close code."""
        async with asyncio.timeout(WAIT_S):
            try:
                while True:
                    self.frames.append(json.loads(await self.socket.recv()))
            except ConnectionClosed as error:
                return error.rcvd.code if error.rcvd is not None else 1006

    def of(self, *types: str) -> list[Frame]:
        return [frame for frame in self.frames if frame["type"] in types]


@dataclass
class Gateway:
    """A running gateway."""

    service: lifecycle.Service
    settings: Settings
    task: asyncio.Task[None]

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.settings.ws_port}/ws"

    @property
    def http_url(self) -> str:
        return f"http://127.0.0.1:{self.settings.http_port}"

    @property
    def health_url(self) -> str:
        return f"http://127.0.0.1:{self.settings.health_port}"

    async def is_ready(self) -> bool:
        async with httpx.AsyncClient(verify=False) as client:
            return (await client.get(f"{self.health_url}/readyz")).status_code == 200

    async def lets_people_in(self) -> bool:
        try:
            await self.service.checks["sessions"]()
        except RuntimeError:
            return False
        return True

    async def stop(self) -> None:
        self.service.stopping.set()
        await self.task


@dataclass
class World:
    """Everything around the gateways of one test."""

    infra: Addresses
    auth: FakeAuth = field(default_factory=FakeAuth)
    lobby: FakeLobby = field(default_factory=FakeLobby)
    engine: FakeEngine = field(default_factory=FakeEngine)
    economy: FakeEconomy = field(default_factory=FakeEconomy)
    gateways: list[Gateway] = field(default_factory=list)
    stack: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)

    @property
    def gateway(self) -> Gateway:
        return self.gateways[0]

    async def start_gateway(self, *, is_ready: bool = True, **overrides: Any) -> Gateway:
        env = self.infra.service_env("realtime")
        fields = {
            name.removeprefix("SAMOVAR_").lower(): value
            for name, value in env.items()
            if name.startswith("SAMOVAR_")
        }
        settings = Settings(**{**fields, **FAST, **overrides})
        service = await lifecycle.start("realtime", settings, compose)
        gateway = Gateway(service, settings, asyncio.create_task(service.run()))
        self.gateways.append(gateway)
        await until(lambda: service.is_accepting)
        if is_ready:
            await until(gateway.is_ready)
        return gateway

    async def open(self, url: str, **options: Any) -> Client:
        """Open a socket without credentials."""
        options.setdefault("compression", None)
        return Client(await self.stack.enter_async_context(connect(url, **options)))

    async def enter(
        self, who: UUID | Identity | None = None, *, gateway: Gateway | None = None, **options: Any
    ) -> Client:
        """Open a socket as a player, and wait until he is in and hears his pushes."""
        identity = who if isinstance(who, Identity) else self.auth.identity(who)
        gateway = gateway or self.gateway
        token = self.auth.token(identity)
        client = await self.open(
            gateway.url, additional_headers={"Authorization": f"Bearer {token}"}, **options
        )
        await client.settle()
        await gateway.service.bus.client.flush()  # the server has the subscription
        return client

    def rest(self, identity: Identity | None = None) -> httpx.AsyncClient:
        """Return a client of the REST facade; the test closes it."""
        headers = {}
        if identity is not None:
            headers["Authorization"] = f"Bearer {self.auth.token(identity)}"
        return httpx.AsyncClient(base_url=self.gateway.http_url, headers=headers, timeout=WAIT_S)

    async def __aenter__(self) -> Self:
        for partner in (self.auth, self.lobby, self.engine, self.economy):
            await partner.start(self.infra)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stack.aclose()
        for gateway in self.gateways:
            if not gateway.task.done():
                await gateway.stop()
        for partner in (self.auth, self.lobby, self.engine, self.economy):
            await partner.stop()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
