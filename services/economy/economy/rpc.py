"""The use cases as commands on NATS; pushes BALANCE_UPDATED after COMMIT."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar
from uuid import UUID

import structlog
from prometheus_client import Counter
from sqlalchemy.exc import IntegrityError

from economy import settlement, store, usecases
from economy.settings import Settings
from economy.usecases import Done, NoAccountError
from shared import failpoints
from shared.bus import Bus
from shared.contracts import economy as contract
from shared.contracts.economy import (
    Adjust,
    Balance,
    CaptureHolds,
    GetBalance,
    GetHold,
    GetSettlement,
    HoldsCaptured,
    HoldView,
    ListTransfers,
    PlaceHold,
    ReleaseHold,
    Settle,
    Settlement,
    SettlementView,
    Transfers,
)
from shared.contracts.realtime import USER_PUSH, frame
from shared.db import Database
from shared.errors import HoldFailed, InsufficientFunds

R = TypeVar("R")

SETTLEMENTS_REFUSED = Counter(
    "samovar_economy_settlements_refused_total",
    "Settlements that the ledger's own rules refused; the money stays in escrow",
)

log = structlog.get_logger()


class Economy:
    """Serves the commands of economy."""

    def __init__(self, db: Database, bus: Bus, settings: Settings) -> None:
        self._db = db
        self._bus = bus
        self._settings = settings

    async def serve(self) -> None:
        """Answer every command of the contract."""
        serve = self._bus.serve
        await serve(contract.PLACE_HOLD, self.place_hold)
        await serve(contract.RELEASE_HOLD, self.release_hold)
        await serve(contract.CAPTURE_HOLDS, self.capture_holds)
        await serve(contract.SETTLE, self.settle)
        await serve(contract.GET_HOLD, self.get_hold)
        await serve(contract.GET_SETTLEMENT, self.get_settlement)
        await serve(contract.GET_BALANCE, self.get_balance)
        await serve(contract.LIST_TRANSFERS, self.list_transfers)
        await serve(contract.ADJUST, self.adjust)

    async def place_hold(self, request: PlaceHold) -> HoldView:
        try:
            done = await self._with_account(
                request.player_id,
                request.registered,
                lambda: self._db.run(lambda tx: usecases.place_hold(tx, request)),
            )
        except NoAccountError:
            raise InsufficientFunds from None
        if done.changed:
            failpoints.hit("economy.hold.after_commit")
        return await self._finish(done)

    async def release_hold(self, request: ReleaseHold) -> HoldView:
        return await self._finish(await self._db.run(lambda tx: usecases.release_hold(tx, request)))

    async def capture_holds(self, request: CaptureHolds) -> HoldsCaptured:
        done = await self._db.run(
            lambda tx: usecases.capture_holds(tx, request, self._settings.unsettled_after_s)
        )
        failpoints.hit("economy.capture.after_commit")
        return await self._finish(done)

    async def settle(self, request: Settle) -> Settlement:
        """Settle; a refusal by the ledger itself is final and its money stays in escrow (F4)."""
        try:
            done = await self._db.run(lambda tx: settlement.settle(tx, request))
        except IntegrityError as error:
            SETTLEMENTS_REFUSED.inc()
            rule = store.violated(error)
            log.error("settlement refused", game_id=str(request.game_id), rule=rule)
            raise HoldFailed("the ledger refuses this settlement", retryable=False) from error
        if done.changed:
            failpoints.hit("economy.settle.after_commit")
        return await self._finish(done)

    async def get_hold(self, request: GetHold) -> HoldView:
        return await self._db.read(lambda tx: usecases.get_hold(tx, request))

    async def get_settlement(self, request: GetSettlement) -> SettlementView:
        return await self._db.read(lambda tx: settlement.get_settlement(tx, request))

    async def get_balance(self, request: GetBalance) -> Balance:
        player_id = request.player_id
        try:
            return await self._with_account(
                player_id,
                request.registered,
                lambda: self._db.read(lambda tx: usecases.get_balance(tx, player_id)),
            )
        except NoAccountError:  # guests have none
            return Balance(player_id=player_id, available=0, held=0, version=0)

    async def list_transfers(self, request: ListTransfers) -> Transfers:
        return await self._db.read(lambda tx: usecases.list_transfers(tx, request))

    async def adjust(self, request: Adjust) -> Balance:
        done = await self._with_account(
            request.player_id,
            True,
            lambda: self._db.run(lambda tx: usecases.adjust(tx, request)),
        )
        return await self._finish(done)

    async def _with_account(
        self, player_id: UUID, is_registered: bool, attempt: Callable[[], Awaitable[R]]
    ) -> R:
        """Do something; open the account first if a registered player has none yet."""
        try:
            return await attempt()
        except NoAccountError:
            if not is_registered:
                raise
        grant = self._settings.opening_grant
        await self._finish(
            await self._db.run(lambda tx: usecases.open_account(tx, player_id, grant))
        )
        return await attempt()

    async def _finish(self, done: Done[R]) -> R:
        await push_balances(self._bus, done.changed)
        return done.reply


async def push_balances(bus: Bus, balances: Sequence[Balance]) -> None:
    """Tell players their money as it is after a COMMIT; a client drops older versions."""
    for balance in balances:
        payload = frame(
            "BALANCE_UPDATED",
            available=balance.available,
            held=balance.held,
            balance_version=balance.version,
        )
        await bus.push(USER_PUSH, balance.player_id, payload)
