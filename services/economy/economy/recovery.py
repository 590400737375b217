"""What the sweeper does about stakes that nobody cares for any more, one transaction each."""

from uuid import UUID

from economy import recovery_store, usecases
from economy.domain.ledger import Stake
from economy.room_store import Game
from economy.usecases import Done
from shared.contracts.economy import HoldView, ReleaseHold
from shared.db import Tx

BATCH = 50  # holds, and games, of one sweep


async def list_overdue_holds(tx: Tx) -> list[Stake]:
    return await recovery_store.list_overdue_holds(tx, BATCH)


async def release_orphan(tx: Tx, stake: Stake) -> Done[HoldView]:
    """Release a hold on which no seat rests (J5). Idempotent like any release.

    Raises:
        HoldFailed: if it was captured after all.
    """
    done = await usecases.release_hold(
        tx,
        ReleaseHold(
            hold_id=stake.hold_id,
            player_id=stake.player_id,
            room_id=stake.room_id,
            amount=stake.amount,
        ),
    )
    if done.changed:
        await recovery_store.record(tx, "J5", "hold released", stake.room_id, stake.hold_id)
    return done


async def extend_hold(tx: Tx, hold_id: UUID, by_s: float) -> None:
    """Ask about an overdue hold again later."""
    await recovery_store.extend_hold(tx, hold_id, by_s)


async def list_unsettled(tx: Tx) -> list[Game]:
    """Return captured games that are not settled though it is time to ask."""
    return await recovery_store.list_unsettled(tx, BATCH)


async def postpone_check(tx: Tx, game_id: UUID, by_s: float) -> None:
    """Ask the engine about a game again later."""
    await recovery_store.postpone_check(tx, game_id, by_s)


async def record_abandoned(tx: Tx, game: Game, by_s: float) -> None:
    """Record that the engine was told to abandon a game it did not know (S5)."""
    await recovery_store.record(tx, "S5", "game abandoned", game.room_id, game.game_id)
    await recovery_store.postpone_check(tx, game.game_id, by_s)
