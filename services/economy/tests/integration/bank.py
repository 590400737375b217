"""What the tests of economy share: a client, and players, rooms and games with fresh ids."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from economy.settings import Settings
from samovar.addresses import Addresses
from shared.bus import Bus
from shared.contracts import economy as contract
from shared.contracts.base import Command, Message
from shared.contracts.economy import (
    Balance,
    CaptureHolds,
    FinishKind,
    GetBalance,
    GetHold,
    GetSettlement,
    HoldRef,
    HoldStatus,
    HoldView,
    PlaceHold,
    ReleaseHold,
    Settle,
    Standing,
)
from shared.ids import game_of_room, new_id

R = TypeVar("R", bound=Message)


@dataclass
class Room:
    """A staked room with its players and the holds they placed."""

    bet: int
    players: list[UUID]
    room_id: UUID = field(default_factory=new_id)
    holds: list[UUID] = field(default_factory=list)

    @property
    def game_id(self) -> UUID:
        return game_of_room(self.room_id)

    @property
    def refs(self) -> list[HoldRef]:
        pairs = zip(self.holds, self.players, strict=True)
        return [HoldRef(hold_id=hold, player_id=player) for hold, player in pairs]

    def release(self, seat: int) -> ReleaseHold:
        """Ask for the stake of a seat back."""
        return ReleaseHold(
            hold_id=self.holds[seat],
            player_id=self.players[seat],
            room_id=self.room_id,
            amount=self.bet,
        )


class Client:
    """Calls economy as those services do that may; ``user`` chooses the NATS user."""

    def __init__(self, buses: dict[str, Bus]) -> None:
        self.buses = buses

    async def call(self, user: str, command: Command[Any, R], request: Any) -> R:
        return await self.buses[user].call(command, request)

    async def balance(self, player_id: UUID, *, registered: bool = True) -> Balance:
        request = GetBalance(player_id=player_id, registered=registered)
        return await self.call("realtime", contract.GET_BALANCE, request)

    async def place(self, request: PlaceHold) -> HoldView:
        return await self.call("lobby", contract.PLACE_HOLD, request)

    async def release(self, request: ReleaseHold) -> HoldView:
        return await self.call("lobby", contract.RELEASE_HOLD, request)

    async def staked_room(self, bet: int = 100, players: int = 2) -> Room:
        """Seat new players, each with a held stake."""
        room = Room(bet, [new_id() for _ in range(players)])
        for player_id in room.players:
            hold = a_hold(player_id, room.room_id, bet)
            assert (await self.place(hold)).status is HoldStatus.HELD
            room.holds.append(hold.hold_id)
        return room

    async def captured_room(self, bet: int = 100, players: int = 2) -> Room:
        """Seat new players and capture their stakes."""
        room = await self.staked_room(bet, players)
        await self.capture(room)
        return room

    async def capture(self, room: Room, **changes: Any) -> contract.HoldsCaptured:
        return await self.call("lobby", contract.CAPTURE_HOLDS, a_capture(room, **changes))

    async def hold(self, hold_id: UUID) -> HoldView:
        return await self.call("operator", contract.GET_HOLD, GetHold(hold_id=hold_id))

    async def settlement(self, game_id: UUID) -> contract.SettlementView:
        request = GetSettlement(game_id=game_id)
        return await self.call("lobby", contract.GET_SETTLEMENT, request)

    async def settle(self, request: Settle) -> contract.Settlement:
        return await self.call("game_engine", contract.SETTLE, request)


def a_hold(player_id: UUID, room_id: UUID, amount: int, **changes: Any) -> PlaceHold:
    values = {
        "hold_id": new_id(),
        "player_id": player_id,
        "room_id": room_id,
        "amount": amount,
        "expires_at": datetime.now(UTC) + timedelta(hours=1),
    }
    return PlaceHold(**(values | changes))


def a_release(hold: PlaceHold) -> ReleaseHold:
    return ReleaseHold(**hold.model_dump(include={"hold_id", "player_id", "room_id", "amount"}))


def a_capture(room: Room, **changes: Any) -> CaptureHolds:
    values = {
        "room_id": room.room_id,
        "game_id": room.game_id,
        "bet": room.bet,
        "holds": room.refs,
        "payout_config_version": 1,
    }
    return CaptureHolds(**(values | changes))


def a_result(
    room: Room,
    finish_kind: FinishKind = FinishKind.NORMAL,
    places: list[int | None] | None = None,
    forfeiter: UUID | None = None,
) -> Settle:
    """Finish a game: by default everybody takes the place of his seat."""
    if places is None:
        is_normal = finish_kind is FinishKind.NORMAL
        places = [seat + 1 if is_normal else None for seat in range(len(room.players))]
    return Settle(
        game_id=room.game_id,
        room_id=room.room_id,
        finish_kind=finish_kind,
        standings=tuple(
            Standing(player_id=player, place=place, forfeited=player == forfeiter)
            for player, place in zip(room.players, places, strict=True)
        ),
    )


def economy_settings(infra: Addresses, **overrides: Any) -> Settings:
    values: dict[str, Any] = {
        "database_url": infra.database_url("economy"),
        "nats_url": infra.nats_url,
        "nats_user": "economy",
        "nats_password": infra.nats_password("economy"),
        "sweep_interval_s": 3600,  # the tests of the sweeper call it themselves
        "database_pool_size": 10,
    }
    return Settings(**(values | overrides))


@dataclass
class Pushes:
    """Frames that were pushed to players, by player."""

    frames: dict[UUID, list[dict[str, Any]]] = field(default_factory=dict)

    async def take(self, key: str, payload: bytes) -> None:
        self.frames.setdefault(UUID(key), []).append(msgspec.json.decode(payload))

    def of(self, player_id: UUID) -> list[dict[str, Any]]:
        return self.frames.get(player_id, [])


async def eventually(condition: Callable[[], Awaitable[bool]], within_s: float = 10) -> None:
    """Wait until a condition holds; fail if it does not in time."""
    async with asyncio.timeout(within_s):
        while not await condition():  # noqa: ASYNC110  # what is awaited has no event
            await asyncio.sleep(0.02)
