"""Auth, lobby, engine and economy as the gateway sees them, over real NATS, with faults on demand.

Each speaks as its own NATS user, so that a right which the gateway or its partners lack shows.
"""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jwt.algorithms import OKPAlgorithm
from typing_extensions import override

from samovar.addresses import Addresses
from shared import errors, tokens
from shared.bus import Bus
from shared.contracts import auth, economy, lobby
from shared.contracts.realtime import USER_PUSH, frame
from shared.ids import new_id

KEY_ID = "test"


class Partner:
    """A fake service on its own connection."""

    user = ""

    def __init__(self) -> None:
        self.bus: Bus | None = None
        self.calls: list[Any] = []

    @property
    def connected(self) -> Bus:
        assert self.bus is not None, "not started"
        return self.bus

    async def start(self, infra: Addresses) -> None:
        self.bus = await Bus.connect(
            infra.nats_url, user=self.user, password=infra.nats_password(self.user)
        )
        await self.serve(self.bus)
        await self.bus.client.flush()

    async def stop(self) -> None:
        if self.bus is not None:
            await self.bus.drain()
            self.bus = None

    async def serve(self, bus: Bus) -> None:
        raise NotImplementedError

    def noting(self, answer: Callable[[Any], Any]) -> Callable[[Any], Awaitable[Any]]:
        """Note every request before it is answered."""

        async def handle(request: Any) -> Any:
            self.calls.append(request)
            return answer(request)

        return handle


class FakeAuth(Partner):
    """Issues tokens and tickets; knows who was revoked."""

    user = "auth"

    def __init__(self) -> None:
        super().__init__()
        self.key = Ed25519PrivateKey.generate()
        self.tickets: dict[str, auth.Identity] = {}
        self.revoked: list[UUID] = []

    @override
    async def serve(self, bus: Bus) -> None:
        jwk = json.loads(OKPAlgorithm.to_jwk(self.key.public_key()))
        jwks = auth.Jwks(keys=({**jwk, "kid": KEY_ID, "use": "sig", "alg": "EdDSA"},))
        await bus.serve(auth.GET_JWKS, self.noting(lambda _: jwks))
        await bus.serve(auth.LIST_REVOKED, self.noting(self._revoked))
        await bus.serve(auth.REDEEM_TICKET, self.noting(self._redeem))

    def identity(
        self,
        player_id: UUID | None = None,
        *,
        seconds: float = 600,
        role: auth.Role = auth.Role.PLAYER,
    ) -> auth.Identity:
        return auth.Identity(
            player_id=player_id or new_id(),
            session_id=new_id(),
            role=role,
            expires_at=datetime.now(UTC) + timedelta(seconds=seconds),
        )

    def token(self, identity: auth.Identity, *, audience: str = "api") -> str:
        return tokens.sign(
            identity, key=self.key, key_id=KEY_ID, audience=audience, now=datetime.now(UTC)
        )

    def ticket(self, identity: auth.Identity) -> str:
        ticket = str(new_id())
        self.tickets[ticket] = identity
        return ticket

    async def revoke(self, session_id: UUID, *, is_heard: bool = True) -> None:
        self.revoked.append(session_id)
        if is_heard:
            await self.connected.push(auth.SESSION_PUSH, session_id, b"{}")

    def _revoked(self, _: auth.ListRevoked) -> auth.RevokedSessions:
        return auth.RevokedSessions(session_ids=tuple(self.revoked), as_of=datetime.now(UTC))

    def _redeem(self, request: auth.RedeemTicket) -> auth.Identity:
        identity = self.tickets.pop(request.ticket, None)
        if identity is None:
            raise errors.Unauthorized
        return identity


class FakeLobby(Partner):
    """Answers every room command with one room; ``refuse`` is raised instead, once."""

    user = "lobby"

    def __init__(self) -> None:
        super().__init__()
        self.refuse: errors.AppError | None = None
        self.room = lobby.RoomView(
            room_id=new_id(), game_id=new_id(), game="durak", mode="throw_in", players_count=2,
            bet=100, turn_seconds=30, is_private=False, join_code=None,
            status=lobby.RoomStatus.WAITING, seats=(), created_at=datetime.now(UTC), version=1,
        )  # fmt: skip

    @override
    async def serve(self, bus: Bus) -> None:
        for command in (
            lobby.CREATE_ROOM, lobby.JOIN_ROOM, lobby.JOIN_BY_CODE, lobby.LEAVE_ROOM,
            lobby.ADD_BOT, lobby.GET_ROOM,
        ):  # fmt: skip
            await bus.serve(command, self.noting(self._answer))  # type: ignore[misc]  # any of them
        rooms = lobby.Rooms(rooms=(self.room,), next_cursor="next")
        await bus.serve(lobby.LIST_ROOMS, self.noting(lambda _: rooms))
        await bus.serve(lobby.LIST_PLAYER_ROOMS, self.noting(lambda _: rooms))

    def _answer(self, _: Any) -> lobby.RoomView:
        if self.refuse is not None:
            refusal, self.refuse = self.refuse, None
            raise refusal
        return self.room

    async def publish(self, **fields: Any) -> None:
        await self.connected.push(lobby.LOBBY_PUSH, None, frame("LOBBY_UPDATED", **fields))

    async def tell(self, player_id: UUID, type_: str, **fields: Any) -> None:
        await self.connected.push(USER_PUSH, player_id, frame(type_, **fields))


class FakeEconomy(Partner):
    user = "economy"

    @override
    async def serve(self, bus: Bus) -> None:
        def balance(request: economy.GetBalance) -> economy.Balance:
            return economy.Balance(player_id=request.player_id, available=900, held=100, version=3)

        def transfers(request: economy.ListTransfers) -> economy.Transfers:
            item = economy.TransferView(
                transfer_id=new_id(), amount=-100, reason=economy.Reason.BET,
                room_id=new_id(), game_id=None, created_at=datetime.now(UTC),
            )  # fmt: skip
            return economy.Transfers(items=(item,), next_cursor=request.cursor)

        await bus.serve(economy.GET_BALANCE, self.noting(balance))
        await bus.serve(economy.LIST_TRANSFERS, self.noting(transfers))
