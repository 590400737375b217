"""Facts of other services that the engine writes down."""

from game_engine import usecases
from game_engine.clock import DatabaseClock
from shared.bus.consumer import Consumer
from shared.contracts.economy import SETTLEMENT_COMPLETED, Settlement
from shared.db import Tx


def register(consumer: Consumer, clock: DatabaseClock) -> None:
    """Connect the handlers."""

    async def settlement_completed(tx: Tx, settlement: Settlement) -> None:
        """Idempotent: a game is marked as settled once."""
        await usecases.record_settlement(tx, settlement, clock.now_ms())

    consumer.on(SETTLEMENT_COMPLETED, settlement_completed)
