"""Economy, engine and auth as the lobby sees them, over real NATS, with faults on demand.

Each speaks as its own NATS user and keeps the promises of its contract: idempotent by ids, typed
refusals, tombstones.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any
from uuid import UUID

from typing_extensions import override

from samovar.addresses import Addresses
from shared.bus import Bus, Incoming
from shared.bus.outbox import event_row
from shared.clock import SystemClock, from_ms
from shared.contracts import auth, economy, engine
from shared.contracts.base import Command, Event, Message, decode
from shared.errors import AppError, HoldFailed, InsufficientFunds
from shared.ids import bot_id
from tests.serving import serve_in_tasks


class Fault(Enum):
    LOSE_REQUEST = auto()  # nothing is done, nobody answers
    LOSE_REPLY = auto()  # it is done, nobody answers


@dataclass(slots=True)
class Script:
    """What goes wrong with one command: ``next`` once each, in order; then ``always``."""

    next: list[Fault | AppError]
    always: Fault | AppError | None = None

    def take(self) -> Fault | AppError | None:
        return self.next.pop(0) if self.next else self.always


class FakeService:
    """A service whose answers can be lost or refused."""

    def __init__(self, user: str) -> None:
        self.user = user
        self.scripts: defaultdict[str, Script] = defaultdict(lambda: Script([]))
        self.seen: list[Message] = []
        self.bus: Bus

    async def start(self, infra: Addresses) -> None:
        self.bus = await Bus.connect(
            infra.nats_url, user=self.user, password=infra.nats_password(self.user)
        )
        await self.serve()

    async def serve(self) -> None:
        raise NotImplementedError

    async def stop(self) -> None:
        await self.bus.drain()

    def fail(self, command: Command[Any, Any], *faults: Fault | AppError) -> None:
        """Let the next calls fail, one fault each."""
        self.scripts[command.name].next += faults

    def break_down(
        self, command: Command[Any, Any], fault: Fault | AppError = Fault.LOSE_REQUEST
    ) -> None:
        """Let every call fail from now on."""
        self.scripts[command.name].always = fault

    def repair(self, command: Command[Any, Any]) -> None:
        self.scripts[command.name] = Script([])

    def requests(self, kind: type[Message]) -> list[Any]:
        return [request for request in self.seen if isinstance(request, kind)]

    def only(self, kind: type[Message]) -> Any:
        """Return the one request of a kind; it may have been repeated, word for word."""
        found = self.requests(kind)
        assert found
        assert all(request == found[0] for request in found)
        return found[0]

    async def answer(self, command: Command[Any, Any], do: Callable[[Any], Message]) -> None:
        async def accept(incoming: Incoming) -> None:
            request = decode(command.request, incoming.data)
            self.seen.append(request)
            fault = self.scripts[command.name].take()
            if fault is Fault.LOSE_REQUEST:
                return
            if isinstance(fault, AppError):
                await incoming.refuse(fault)
                return
            try:
                reply = do(request)
            except AppError as refusal:
                await incoming.refuse(refusal)
                return
            if fault is not Fault.LOSE_REPLY:
                await incoming.reply(reply)

        await serve_in_tasks(self.bus, command, accept)

    async def publish(self, event: Event[Any], payload: Message, *, times: int = 1) -> None:
        """Publish a fact; more than once under ids of their own, as after a restore."""
        for _ in range(times):
            row = event_row(event, payload)
            await self.bus.client.jetstream().publish(
                row.subject, row.payload, headers={"Nats-Msg-Id": str(row.id)}
            )


@dataclass(slots=True)
class FakeHold:
    player_id: UUID
    room_id: UUID
    amount: int
    status: economy.HoldStatus


class FakeEconomy(FakeService):
    """Balances of 1,000, holds with tombstones, captures all or nothing."""

    def __init__(self) -> None:
        super().__init__("economy")
        self.balances: defaultdict[UUID, int] = defaultdict(lambda: 1000)
        self.holds: dict[UUID, FakeHold] = {}
        self.captured: dict[UUID, economy.CaptureHolds] = {}
        self.settled: dict[UUID, economy.Settlement] = {}

    @override
    async def serve(self) -> None:
        await self.answer(economy.PLACE_HOLD, self._place)
        await self.answer(economy.RELEASE_HOLD, self._release)
        await self.answer(economy.CAPTURE_HOLDS, self._capture)
        await self.answer(economy.GET_SETTLEMENT, self._get_settlement)

    def live(self, status: economy.HoldStatus = economy.HoldStatus.HELD) -> list[FakeHold]:
        return [hold for hold in self.holds.values() if hold.status is status]

    def settle(self, game_id: UUID) -> economy.Settlement:
        capture = self.captured[game_id]
        settlement = economy.Settlement(
            game_id=game_id, room_id=capture.room_id, finish_kind=economy.FinishKind.CANCELLED,
            pool=capture.bet * len(capture.holds), rake=0, credits=(),
        )  # fmt: skip
        return self.settled.setdefault(game_id, settlement)

    def _place(self, request: economy.PlaceHold) -> economy.HoldView:
        known = self.holds.get(request.hold_id)
        if known is not None and known.status is economy.HoldStatus.RELEASED:
            raise HoldFailed
        if known is None:
            if self.balances[request.player_id] < request.amount:
                raise InsufficientFunds
            self.balances[request.player_id] -= request.amount
            self.holds[request.hold_id] = FakeHold(
                request.player_id, request.room_id, request.amount, economy.HoldStatus.HELD
            )
        return economy.HoldView(hold_id=request.hold_id, status=self.holds[request.hold_id].status)

    def _release(self, request: economy.ReleaseHold) -> economy.HoldView:
        hold = self.holds.setdefault(
            request.hold_id,
            FakeHold(
                request.player_id, request.room_id, request.amount, economy.HoldStatus.RELEASED
            ),
        )
        if hold.status is economy.HoldStatus.CAPTURED:
            raise HoldFailed
        if hold.status is economy.HoldStatus.HELD:
            hold.status = economy.HoldStatus.RELEASED
            self.balances[hold.player_id] += hold.amount
        return economy.HoldView(hold_id=request.hold_id, status=hold.status)

    def _capture(self, request: economy.CaptureHolds) -> economy.HoldsCaptured:
        if self.captured.setdefault(request.game_id, request) != request:
            raise AssertionError("captured with other arguments")
        holds = [self.holds[ref.hold_id] for ref in request.holds]
        if any(hold.status is economy.HoldStatus.RELEASED for hold in holds):
            del self.captured[request.game_id]
            raise HoldFailed
        for hold in holds:
            hold.status = economy.HoldStatus.CAPTURED
        return economy.HoldsCaptured(
            game_id=request.game_id, pool=sum(hold.amount for hold in holds)
        )

    def _get_settlement(self, request: economy.GetSettlement) -> economy.SettlementView:
        return economy.SettlementView(
            game_id=request.game_id,
            captured=request.game_id in self.captured,
            settlement=self.settled.get(request.game_id),
        )


class FakeEngine(FakeService):
    """Games by id; an abandoned one is a tombstone."""

    def __init__(self) -> None:
        super().__init__("game_engine")
        self.games: dict[UUID, engine.GameStatus] = {}
        self.created: dict[UUID, engine.CreateGame] = {}

    @override
    async def serve(self) -> None:
        await self.answer(engine.CREATE_GAME, self._create)
        await self.answer(engine.ABANDON_GAME, self._abandon)
        await self.answer(
            engine.GET_GAME,
            lambda request: self._summary(request.game_id),
        )

    async def finish(
        self, game_id: UUID, kind: economy.FinishKind = economy.FinishKind.NORMAL, times: int = 1
    ) -> None:
        self.games[game_id] = engine.GameStatus.FINISHED
        created = self.created[game_id]
        result = engine.GameResult(
            game_id=game_id, room_id=created.room_id, game=created.game, finish_kind=kind,
            standings=(), has_stake=created.has_stake,
            finished_at=from_ms(SystemClock().now_ms()),
        )  # fmt: skip
        await self.publish(engine.GAME_FINISHED, result, times=times)

    def _create(self, request: engine.CreateGame) -> engine.GameSummary:
        if self.created.setdefault(request.game_id, request) != request:
            raise AssertionError("created with other arguments")
        self.games.setdefault(request.game_id, engine.GameStatus.RUNNING)
        return self._summary(request.game_id)

    def _abandon(self, request: engine.AbandonGame) -> engine.GameSummary:
        self.games.setdefault(request.game_id, engine.GameStatus.ABANDONED)
        return self._summary(request.game_id)

    def _summary(self, game_id: UUID) -> engine.GameSummary:
        status = self.games.get(game_id, engine.GameStatus.UNKNOWN)
        return engine.GameSummary(game_id=game_id, status=status)


class FakeAuth(FakeService):
    """Everybody exists and is called after his id; three bots."""

    def __init__(self) -> None:
        super().__init__("auth")
        self.guests: set[UUID] = set()
        self.strangers: set[UUID] = set()
        self.bots = tuple(bot_id(number) for number in range(3))

    @override
    async def serve(self) -> None:
        await self.answer(auth.GET_PROFILES, self._profiles)
        await self.answer(auth.LIST_BOTS, self._list_bots)

    def _profiles(self, request: auth.GetProfiles) -> auth.Profiles:
        known = [found for found in request.player_ids if found not in self.strangers]
        return auth.Profiles(profiles=tuple(self._profile(found) for found in known))

    def _profile(self, player_id: UUID) -> auth.Profile:
        kind = auth.PlayerKind.GUEST if player_id in self.guests else auth.PlayerKind.REGISTERED
        return auth.Profile(player_id=player_id, nickname=nickname(player_id), kind=kind)

    def _list_bots(self, request: auth.Empty) -> auth.Profiles:
        return auth.Profiles(
            profiles=tuple(
                auth.Profile(player_id=bot, nickname="Bot", kind=auth.PlayerKind.BOT)
                for bot in self.bots
            )
        )


def nickname(player_id: UUID) -> str:
    return f"P-{player_id.hex[-6:]}"
