"""SQL of the sweeper: what is overdue, and what was done about it."""

from uuid import UUID

from sqlalchemy import text

from economy.domain.ledger import Stake
from economy.room_store import GAME_COLUMNS, HOLD_COLUMNS, Game, to_game, to_hold
from shared.db import Tx
from shared.ids import new_id


async def extend_hold(tx: Tx, hold_id: UUID, by_s: float) -> None:
    await tx.execute(
        text("""
            update hold set expires_at = clock_timestamp() + make_interval(secs => :by_s)
            where hold_id = :id and status = 'held'
        """),
        {"id": hold_id, "by_s": by_s},
    )


async def list_overdue_holds(tx: Tx, limit: int) -> list[Stake]:
    result = await tx.execute(
        text(f"""
            select {HOLD_COLUMNS} from hold
            where status = 'held' and expires_at < clock_timestamp()
            order by expires_at limit :limit
        """),  # noqa: S608  # constant
        {"limit": limit},
    )
    return [to_hold(row).stake for row in result.mappings()]


async def list_unsettled(tx: Tx, limit: int) -> list[Game]:
    """Return captured games whose time to be asked about has come."""
    result = await tx.execute(
        text(f"""
            select {GAME_COLUMNS} from settlement
            where finalized_at is null and next_check_at < clock_timestamp()
            order by next_check_at limit :limit
        """),  # noqa: S608  # constant
        {"limit": limit},
    )
    return [to_game(row) for row in result.mappings()]


async def postpone_check(tx: Tx, game_id: UUID, by_s: float) -> None:
    await tx.execute(
        text("""
            update settlement set next_check_at = clock_timestamp() + make_interval(secs => :by_s)
            where game_id = :id and finalized_at is null
        """),
        {"id": game_id, "by_s": by_s},
    )


async def record(tx: Tx, crash_row: str, action: str, room_id: UUID, subject_id: UUID) -> None:
    """Record what the sweeper repaired.

    Args:
        tx: Transaction of the repair.
        crash_row: Row of the crash table (design: economy, section 4).
        action: What was done, in one or two words.
        room_id: Whose stakes they are.
        subject_id: The hold or the game.
    """
    await tx.execute(
        text("""
            insert into recovery_event (id, crash_row, action, room_id, subject_id)
            values (:id, :crash_row, :action, :room_id, :subject_id)
        """),
        {
            "id": new_id(), "crash_row": crash_row, "action": action, "room_id": room_id,
            "subject_id": subject_id,
        },
    )  # fmt: skip
