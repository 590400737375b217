"""The sweeper: asks the economy about games whose settlement the engine never heard of."""

from uuid import UUID

import structlog

from game_engine import queries, usecases
from game_engine.clock import DatabaseClock
from shared import errors
from shared.bus import Bus
from shared.contracts.economy import GET_SETTLEMENT, GetSettlement
from shared.db import Database

LIMIT = 50

log = structlog.get_logger()


class SettlementSweeper:
    """Repairs the audit of games that ended at least two intervals ago."""

    def __init__(self, db: Database, bus: Bus, clock: DatabaseClock, interval_s: float) -> None:
        self._db = db
        self._bus = bus
        self._clock = clock
        self._older_than_s = 2 * interval_s

    async def sweep(self) -> None:
        """Look once."""
        try:
            unsettled = await self._db.run(
                lambda tx: queries.list_unsettled(tx, self._older_than_s, LIMIT)
            )
            for game_id in unsettled:
                await self._repair(game_id)
        except errors.UNKNOWN_OUTCOME as error:
            log.warning("sweep postponed", error=repr(error))

    async def _repair(self, game_id: UUID) -> None:
        view = await self._bus.call(GET_SETTLEMENT, GetSettlement(game_id=game_id))
        settlement = view.settlement
        if settlement is None:
            return  # the durable call is still on its way
        now_ms = self._clock.now_ms()
        await self._db.run(
            lambda tx: usecases.record_settlement(tx, settlement, now_ms, is_repair=True)
        )
        log.info("settlement recorded late", game_id=str(game_id))
