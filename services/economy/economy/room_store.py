"""SQL of what lies between bet and payout: holds and settlements.

The order of locks stands at the top of ``store``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import RowMapping, text

from economy.domain.ledger import Stake
from economy.domain.payout import Share
from economy.store import to_balance
from shared.bus.outbox import OutboxRow
from shared.contracts.economy import Balance, CaptureHolds, FinishKind, HoldStatus
from shared.db import Tx


@dataclass(frozen=True, slots=True)
class Hold:
    stake: Stake
    status: HoldStatus


@dataclass(frozen=True, slots=True)
class Game:
    """A captured game: its terms, and its result once it is finalized."""

    game_id: UUID
    room_id: UUID
    holders: tuple[UUID, ...]
    bet: int
    pool: int
    payout_config_version: int
    finish_kind: FinishKind | None
    request_hash: bytes | None


@dataclass(frozen=True, slots=True)
class Result:
    """What a settlement stores of the request that it carried out."""

    finish_kind: FinishKind
    places: list[int | None]  # in the order of the holders
    forfeiter: UUID | None
    request_hash: bytes


# --- holds ----------------------------------------------------------------------------------------

HOLD_COLUMNS = "hold_id, player_id, room_id, amount, status"


async def insert_hold(tx: Tx, stake: Stake, expires_at: datetime) -> bool:
    """Insert a held hold if the player can pay it now.

    False if he cannot, if the hold is known, or if he has another live one in this room.
    """
    result = await tx.execute(
        text("""
            insert into hold (hold_id, player_id, room_id, amount, status, expires_at)
            select cast(:hold_id as uuid), owner_id, cast(:room_id as uuid),
              cast(:amount as bigint), 'held', cast(:expires_at as timestamptz)
            from account
            where owner_id = :player_id and kind = 'player' and balance >= :amount
            on conflict do nothing
        """),
        {
            "hold_id": stake.hold_id, "player_id": stake.player_id, "room_id": stake.room_id,
            "amount": stake.amount, "expires_at": expires_at,
        },
    )  # fmt: skip
    return result.rowcount == 1


async def insert_tombstone(tx: Tx, stake: Stake) -> bool:
    """Insert a released hold that refuses the late one; False if the hold is known by now."""
    result = await tx.execute(
        text("""
            insert into hold (hold_id, player_id, room_id, amount, status, expires_at)
            values (:hold_id, :player_id, :room_id, :amount, 'released', clock_timestamp())
            on conflict do nothing
        """),
        {
            "hold_id": stake.hold_id, "player_id": stake.player_id, "room_id": stake.room_id,
            "amount": stake.amount,
        },
    )  # fmt: skip
    return result.rowcount == 1


async def find_hold(tx: Tx, hold_id: UUID) -> Hold | None:
    result = await tx.execute(
        text(f"select {HOLD_COLUMNS} from hold where hold_id = :id"),  # noqa: S608  # constant
        {"id": hold_id},
    )
    return next((to_hold(row) for row in result.mappings()), None)


async def find_holds_in_the_way(tx: Tx, stake: Stake) -> tuple[Hold | None, Hold | None]:
    """Return the hold itself if it is known, and else the player's other live one in the room."""
    result = await tx.execute(
        text(f"""
            select {HOLD_COLUMNS} from hold where hold_id = :hold_id
            union all
            select {HOLD_COLUMNS} from hold
            where room_id = :room_id and player_id = :player_id and status <> 'released'
              and hold_id <> :hold_id
        """),  # noqa: S608  # constant
        {"hold_id": stake.hold_id, "room_id": stake.room_id, "player_id": stake.player_id},
    )
    holds = [to_hold(row) for row in result.mappings()]
    known = next((hold for hold in holds if hold.stake.hold_id == stake.hold_id), None)
    rival = next((hold for hold in holds if hold.stake.hold_id != stake.hold_id), None)
    return known, rival


async def lock_holds(tx: Tx, hold_ids: Sequence[UUID]) -> list[Hold]:
    """Return and lock the holds that are known."""
    result = await tx.execute(
        text(f"""
            select {HOLD_COLUMNS} from hold where hold_id = any (:ids)
            order by hold_id for no key update
        """),  # noqa: S608  # constant
        {"ids": list(hold_ids)},
    )
    return [to_hold(row) for row in result.mappings()]


async def lock_held(tx: Tx, room_id: UUID) -> list[Stake]:
    """Return and lock the stakes of a room that are held, not captured."""
    result = await tx.execute(
        text(f"""
            select {HOLD_COLUMNS} from hold where room_id = :room_id and status = 'held'
            order by hold_id for no key update
        """),  # noqa: S608  # constant
        {"room_id": room_id},
    )
    return [to_hold(row).stake for row in result.mappings()]


async def set_released(tx: Tx, hold_ids: Sequence[UUID]) -> None:
    """Release holds that the caller has locked and pays back."""
    await tx.execute(
        text("update hold set status = 'released' where hold_id = any (:ids)"),
        {"ids": list(hold_ids)},
    )


def to_hold(row: RowMapping) -> Hold:
    stake = Stake(row["hold_id"], row["player_id"], row["room_id"], row["amount"])
    return Hold(stake, HoldStatus(row["status"]))


# --- settlements ----------------------------------------------------------------------------------

GAME_COLUMNS = """
  game_id, room_id, holders, bet, pool, payout_config_version, finish_kind, request_hash
"""


async def capture(tx: Tx, request: CaptureHolds, check_after_s: float) -> None:
    """Capture holds that the caller has locked and found held, and open the settlement.

    Raises:
        IntegrityError: ``settlement_payout_config`` if there is no such payout table,
            ``settlement_pkey`` or ``settlement_room`` if a parallel capture was first.
    """
    await tx.execute(
        text("""
            with taken as (update hold set status = 'captured' where hold_id = any (:hold_ids))
            insert into settlement
              (game_id, room_id, holders, bet, pool, payout_config_version, next_check_at)
            values (:game_id, :room_id, :holders, :bet, :pool, :version,
              clock_timestamp() + make_interval(secs => :check_after_s))
        """),
        {
            "hold_ids": [ref.hold_id for ref in request.holds],
            "game_id": request.game_id, "room_id": request.room_id,
            "holders": [ref.player_id for ref in request.holds],
            "bet": request.bet, "pool": request.bet * len(request.holds),
            "version": request.payout_config_version, "check_after_s": check_after_s,
        },
    )  # fmt: skip


async def find_game(tx: Tx, game_id: UUID) -> Game | None:
    result = await tx.execute(
        text(f"select {GAME_COLUMNS} from settlement where game_id = :id"),  # noqa: S608  # constant
        {"id": game_id},
    )
    return next((to_game(row) for row in result.mappings()), None)


async def find_game_of_room(tx: Tx, room_id: UUID) -> Game | None:
    result = await tx.execute(
        text(f"select {GAME_COLUMNS} from settlement where room_id = :id"),  # noqa: S608  # constant
        {"id": room_id},
    )
    return next((to_game(row) for row in result.mappings()), None)


_LOCK_GAME = text(f"""
    with game as (
      select {GAME_COLUMNS} from settlement where game_id = :id for no key update)
    select game.*,
      (select array_agg(array[numerator, denominator] order by place) from payout_config
       where version = game.payout_config_version
         and players_count = cardinality(game.holders)) as shares
    from game join account on account.owner_id = any (game.holders || game.room_id)
    order by account.id for no key update of account
""")  # noqa: S608  # constant


async def lock_game(tx: Tx, game_id: UUID) -> tuple[Game, list[Share]] | None:
    """Return a game and its payout table; lock its settlement, then all accounts it may touch."""
    result = await tx.execute(_LOCK_GAME, {"id": game_id})
    row = next(iter(result.mappings()), None)
    return None if row is None else (to_game(row), [Share(*share) for share in row["shares"]])


_FINALIZE = text("""
    with closed as (
      update settlement set finish_kind = :finish_kind, places = :places, forfeiter = :forfeiter,
        request_hash = :request_hash, finalized_at = clock_timestamp()
      where game_id = :game_id),
    said as (
      insert into outbox (id, kind, subject, payload)
      values (:event_id, :event_kind, :event_subject, :event_payload))
    -- The trigger close_stakes() comes after this reading: foretell what it does.
    select owner_id as player_id, balance as available,
      held - case when is_credited then 0 else :bet end as held,
      version + case when is_credited then 0 else 1 end as version
    from account, lateral (select owner_id = any (:credited) as is_credited) mark
    where owner_id = any (:holders) and kind = 'player'
""")


async def finalize(
    tx: Tx, game: Game, result: Result, credited: Sequence[UUID], event: OutboxRow
) -> list[Balance]:
    """Close a settlement whose transfers are made, and publish it; return the holders' money.

    Args:
        tx: Holds the locks of ``lock_game``.
        game: What is settled.
        result: What is stored of the request.
        credited: Holders who received a transfer.
        event: ``settlement_completed``.
    """
    rows = await tx.execute(
        _FINALIZE,
        {
            "game_id": game.game_id, "bet": game.bet, "holders": list(game.holders),
            "finish_kind": result.finish_kind.value, "places": result.places,
            "forfeiter": result.forfeiter, "request_hash": result.request_hash,
            "credited": list(credited),
            "event_id": event.id, "event_kind": event.kind, "event_subject": event.subject,
            "event_payload": event.payload,
        },
    )  # fmt: skip
    tx.info["outbox"] = True  # the relay looks at once
    return [to_balance(row) for row in rows.mappings()]


def to_game(row: RowMapping) -> Game:
    return Game(
        row["game_id"],
        row["room_id"],
        tuple(row["holders"]),
        row["bet"],
        row["pool"],
        row["payout_config_version"],
        None if row["finish_kind"] is None else FinishKind(row["finish_kind"]),
        None if row["request_hash"] is None else bytes(row["request_hash"]),
    )
