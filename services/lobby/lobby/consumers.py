"""Facts of others: games that are over, stakes that are settled."""

from lobby import usecases
from lobby.notices import Notices
from shared.bus.consumer import AfterCommit, Consumer
from shared.contracts.economy import SETTLEMENT_COMPLETED, Settlement
from shared.contracts.engine import GAME_FINISHED, GameResult
from shared.db import Tx


def register(consumer: Consumer, notices: Notices) -> None:
    """Handle what the lobby listens to. Idempotent by inbox row and by the room's state."""

    async def on_game_finished(tx: Tx, result: GameResult) -> AfterCommit | None:
        change = await usecases.finish_room(tx, result.game_id, result.finish_kind)

        async def tell() -> None:
            await notices.tell(change)

        return tell

    async def on_settled(tx: Tx, settlement: Settlement) -> None:
        await usecases.settle_room(tx, settlement.game_id)

    consumer.on(GAME_FINISHED, on_game_finished)
    consumer.on(SETTLEMENT_COMPLETED, on_settled)
