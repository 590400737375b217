"""The lobby under test with everybody around it, and the questions tests ask."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import text

from lobby import store
from lobby.app import compose
from lobby.domain.room import Room, RoomStatus
from lobby.settings import Settings
from samovar.addresses import Addresses
from services.lobby.tests.integration.fakes import FakeAuth, FakeEconomy, FakeEngine
from shared.bus import Bus
from shared.contracts import lobby as contract
from shared.contracts.lobby import LOBBY_PUSH
from shared.contracts.realtime import USER_PUSH
from shared.db import Database
from shared.errors import AppError
from shared.ids import new_id
from shared.lifecycle import Service, start
from tests.forked import ForkedService

T = TypeVar("T")
PATIENCE_S = 40.0
# The sweeper looks often; deadlines stay long enough for a busy machine.
FAST: dict[str, float] = {
    "sweep_interval_s": 0.1, "hold_attempt_s": 0.5, "call_attempt_s": 1.0, "stuck_after_s": 0.3,
}  # fmt: skip
UNSWEPT = {"stuck_after_s": 60.0}  # for tests of the normal path alone


async def subscribed(bus: Bus) -> None:
    """Wait until the server knows every subscription of a connection."""
    await asyncio.sleep(0)  # the client writes them in a task of its own
    await bus.client.flush()


async def eventually(check: Callable[[], Awaitable[T | None]]) -> T:
    """Ask again and again until the answer is true; fail when it takes too long."""
    async with asyncio.timeout(PATIENCE_S):
        while not (answer := await check()):  # noqa: ASYNC110  # another process decides
            await asyncio.sleep(0.02)
    return answer


async def _give_up(call: "asyncio.Task[contract.RoomView]") -> None:
    call.cancel()
    with contextlib.suppress(asyncio.CancelledError, AppError):
        await call


@dataclass
class World:
    infra: Addresses
    db: Database  # as the owner: sees everything
    gateway: Bus
    economy: FakeEconomy
    engine: FakeEngine
    auth: FakeAuth
    pushes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    running: list[Service] = field(default_factory=list)
    process: ForkedService | None = None

    # --- the service -----------------------------------------------------------------------------

    async def start(self, **settings: float) -> Service:
        """Start a replica in this process."""
        values: dict[str, Any] = {
            "nats_url": self.infra.nats_url,
            "nats_user": "lobby",
            "nats_password": self.infra.nats_password("lobby"),
            "database_url": self.infra.database_url("lobby"),
            **FAST,
            **settings,
        }
        service = await start("lobby", Settings(**values), compose)
        await subscribed(service.bus)
        self.running.append(service)
        return service

    async def stop(self) -> None:
        """End every replica of this process, wherever its work stands."""
        while self.running:
            await self.running.pop().close()

    async def restart(self, **settings: float) -> None:
        await self.stop()
        await self.start(**settings)

    async def start_process(self, failpoint: str = "", **settings: float) -> None:
        """Start a replica as a process of its own, to be killed by the failpoint or by us."""
        values = {name.upper(): value for name, value in {**FAST, **settings}.items()}
        self.process = ForkedService(self.infra, "lobby", 1, FAILPOINT=failpoint, **values)
        await asyncio.to_thread(self.process.start)

    async def killed(self, call: "asyncio.Task[contract.RoomView]") -> None:
        """Wait until the process has killed itself; its caller gives up."""
        assert self.process is not None
        await asyncio.to_thread(self.process.wait_gone, 20)
        await _give_up(call)

    async def kill(self, call: "asyncio.Task[contract.RoomView]") -> None:
        """Kill -9 the process in the middle of a call; its caller gives up."""
        assert self.process is not None
        await asyncio.to_thread(self.process.kill)
        await _give_up(call)

    # --- players ---------------------------------------------------------------------------------

    async def create(self, player_id: UUID, **terms: Any) -> contract.RoomView:
        values = {
            "is_guest": False, "request_id": new_id(), "game": "durak", "mode": "throw_in",
            "players_count": 2, "bet": None, **terms,
        }  # fmt: skip
        request = contract.CreateRoom(player_id=player_id, **values)
        return await self.gateway.call(contract.CREATE_ROOM, request)

    async def join(
        self, player_id: UUID, room_id: UUID, request_id: UUID | None = None, **extra: Any
    ) -> contract.RoomView:
        values = {"is_guest": False, "request_id": request_id or new_id(), **extra}
        request = contract.JoinRoom(player_id=player_id, room_id=room_id, **values)
        return await self.gateway.call(contract.JOIN_ROOM, request)

    async def join_by_code(self, player_id: UUID, join_code: str) -> contract.RoomView:
        request = contract.JoinByCode(
            player_id=player_id, is_guest=False, request_id=new_id(), join_code=join_code
        )
        return await self.gateway.call(contract.JOIN_BY_CODE, request)

    async def leave(self, player_id: UUID, room_id: UUID) -> contract.RoomView:
        request = contract.LeaveRoom(player_id=player_id, room_id=room_id)
        return await self.gateway.call(contract.LEAVE_ROOM, request)

    async def add_bot(
        self, player_id: UUID, room_id: UUID, request_id: UUID | None = None
    ) -> contract.RoomView:
        request = contract.AddBot(
            player_id=player_id, room_id=room_id, request_id=request_id or new_id()
        )
        return await self.gateway.call(contract.ADD_BOT, request)

    async def get(self, room_id: UUID, player_id: UUID | None = None) -> contract.RoomView:
        request = contract.GetRoom(room_id=room_id, player_id=player_id)
        return await self.gateway.call(contract.GET_ROOM, request)

    # --- what is stored --------------------------------------------------------------------------

    async def stored(self, room_id: UUID) -> Room:
        async with self.db.transaction() as tx:
            room = await store.find_room(tx, room_id)
        assert room is not None
        return room

    async def becomes(self, room_id: UUID, status: RoomStatus) -> Room:
        """Wait until a room has a status."""

        async def check() -> Room | None:
            room = await self.stored(room_id)
            return room if room.status is status else None

        return await eventually(check)

    async def rows(self, sql: str, **values: Any) -> list[Any]:
        async with self.db.transaction() as tx:
            return list((await tx.execute(text(sql), values)).all())

    async def repairs(self, room_id: UUID) -> list[str]:
        """Rows of the crash table that were repaired in a room, in order."""
        found = await self.rows(
            "select crash_row from recovery_event where room_id = :room_id order by id",
            room_id=room_id,
        )
        return [row.crash_row for row in found]

    async def outbox_is_empty(self) -> None:
        """Wait until every durable call was answered; none may have been given up."""

        async def check() -> bool:
            return not await self.rows("select id from outbox")

        await eventually(check)
        assert await self.rows("select * from dead_letter") == []

    # --- pushes ----------------------------------------------------------------------------------

    async def watch(self) -> None:
        async def on_push(key: str, payload: bytes) -> None:
            self.pushes.append((key, json.loads(payload)))

        await self.gateway.watch(USER_PUSH, None, on_push)
        await self.gateway.watch(LOBBY_PUSH, None, on_push)
        await subscribed(self.gateway)

    async def pushed(self, key: object, type_: str, **fields: Any) -> dict[str, Any]:
        """Wait for a push to a player (or to "lobby") whose frame has these fields."""

        async def check() -> dict[str, Any] | None:
            for to, content in self.pushes:
                is_it = all(content.get(name) == value for name, value in fields.items())
                if to == str(key) and content["type"] == type_ and is_it:
                    return content
            return None

        return await eventually(check)
