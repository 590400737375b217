"""The commands of economy, one transaction each.

Each is idempotent; its docstring says by what. A use case returns its reply and the money that it
changed, which the caller pushes to the players after COMMIT.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

from sqlalchemy.exc import IntegrityError

from economy import room_store, store
from economy.domain import ledger
from economy.domain.ledger import AccountKind, Stake
from economy.room_store import Game, Hold
from shared import failpoints
from shared.contracts.economy import (
    Adjust,
    Balance,
    CaptureHolds,
    GetHold,
    HoldsCaptured,
    HoldStatus,
    HoldView,
    ListTransfers,
    PlaceHold,
    ReleaseHold,
    Transfers,
)
from shared.db import Tx
from shared.errors import (
    AppError,
    HoldFailed,
    IdempotencyMismatch,
    InsufficientFunds,
    InvalidBet,
    InvalidRequest,
)
from shared.money import MAX_BET, MIN_BET

R = TypeVar("R")

HOLD_ATTEMPTS = 3
# Integers of JSON are exact up to here in every client; far below what a bigint holds.
MAX_ADJUSTED = 2**53 - 1


class NoAccountError(Exception):
    """The player has no account: open it in a transaction of its own, then repeat."""


@dataclass(frozen=True, slots=True)
class Done(Generic[R]):
    """A reply, and the money of the players for whom it changed."""

    reply: R
    changed: Sequence[Balance] = ()


async def open_account(tx: Tx, player_id: UUID, grant: int) -> Done[None]:
    """Open a player's account with the opening grant. Idempotent: one account for each player."""
    if not await store.open_account(tx, AccountKind.PLAYER, player_id):
        return Done(None)
    if grant:
        await store.insert_transfers(tx, [ledger.grant(player_id, grant)])
    return Done(None, await store.load_balances(tx, [player_id]))


# --- stakes ---------------------------------------------------------------------------------------


async def place_hold(tx: Tx, request: PlaceHold) -> Done[HoldView]:
    """Take a stake into the room's escrow. Idempotent by ``hold_id``.

    Raises:
        InvalidBet: outside of the limits.
        HoldFailed: with ``retryable`` true if the player's old hold in this room is not released
            yet; false if the stakes of the room are captured.
        InsufficientFunds, IdempotencyMismatch: as they say.
        NoAccountError: see there.
    """
    if not MIN_BET <= request.amount <= MAX_BET:
        raise InvalidBet
    stake = Stake(request.hold_id, request.player_id, request.room_id, request.amount)
    for _ in range(HOLD_ATTEMPTS):
        if await room_store.insert_hold(tx, stake, request.expires_at):
            break
        known = await _explain_no_hold(tx, stake)
        if known is not None:
            return Done(HoldView(hold_id=stake.hold_id, status=known.status))
    else:
        raise HoldFailed(retryable=True)
    await store.open_account(tx, AccountKind.ESCROW, stake.room_id)
    try:
        await store.insert_transfers(tx, [ledger.bet(stake)])
    except IntegrityError as error:
        raise _to_refusal(error) from error
    changed = await store.load_balances(tx, [stake.player_id])
    failpoints.hit("economy.hold.before_commit")
    return Done(HoldView(hold_id=stake.hold_id, status=HoldStatus.HELD), changed)


async def _explain_no_hold(tx: Tx, stake: Stake) -> Hold | None:
    """Return the hold if it is known already, or raise why there can be none.

    None if what was in the way a moment ago has gone.
    """
    # Money first: if a parallel request has taken it for this very hold, the hold shows after that.
    balance = await store.load_balance(tx, stake.player_id)
    known, rival = await room_store.find_holds_in_the_way(tx, stake)
    if known is not None:
        _require_same(known, stake)
        return known
    if rival is not None:
        raise HoldFailed(retryable=rival.status is HoldStatus.HELD)
    if balance is None:
        raise NoAccountError
    if balance.available < stake.amount:
        raise InsufficientFunds
    return None


def _require_same(known: Hold, stake: Stake) -> None:
    if known.stake != stake:
        raise IdempotencyMismatch


def _to_refusal(error: IntegrityError) -> AppError:
    """Translate what the ledger refuses to a player; anything else is a bug and raised again."""
    match store.violated(error):
        case "account_balance_floor":
            return InsufficientFunds()
        case "room_captured" | "escrow_finalized":
            return HoldFailed("the game of this room has started", retryable=False)
    raise error


async def release_hold(tx: Tx, request: ReleaseHold) -> Done[HoldView]:
    """Give a stake back. Idempotent by ``hold_id``; an unknown hold leaves a tombstone.

    Raises:
        HoldFailed: if the stake is captured: only a settlement can give it back.
        IdempotencyMismatch: if the hold is another one.
    """
    stake = Stake(request.hold_id, request.player_id, request.room_id, request.amount)
    released = HoldView(hold_id=stake.hold_id, status=HoldStatus.RELEASED)
    holds = await room_store.lock_holds(tx, [stake.hold_id])
    if not holds:
        if await room_store.insert_tombstone(tx, stake):
            return Done(released)
        # The late hold came in between.
        holds = await room_store.lock_holds(tx, [stake.hold_id])
    (hold,) = holds
    _require_same(hold, stake)
    match hold.status:
        case HoldStatus.CAPTURED:
            raise HoldFailed("the stake is captured", retryable=False)
        case HoldStatus.RELEASED:
            return Done(released)
    return Done(released, await _give_back(tx, [stake]))


async def _give_back(tx: Tx, stakes: Sequence[Stake]) -> Sequence[Balance]:
    """Release held holds that are locked; return the money of their players."""
    if not stakes:
        return ()
    await room_store.set_released(tx, [stake.hold_id for stake in stakes])
    await store.insert_transfers(tx, [ledger.refund(stake) for stake in stakes])
    return await store.load_balances(tx, [stake.player_id for stake in stakes])


async def capture_holds(tx: Tx, request: CaptureHolds, check_after_s: float) -> Done[HoldsCaptured]:
    """Fix the stakes, holders and payout table of a game, all or nothing. Idempotent by game.

    Other stakes that are still held in this room belong to nobody who plays: they are released.

    Raises:
        HoldFailed: if any hold is not held by this player in this room for this bet.
        IdempotencyMismatch: if the game was captured with other terms.
        InvalidRequest: if there is no such payout table.
    """
    holds = await room_store.lock_holds(tx, [ref.hold_id for ref in request.holds])
    game = await room_store.find_game(tx, request.game_id)
    if game is not None:
        if not _is_same_capture(game, request) or not _are_all(holds, request, HoldStatus.CAPTURED):
            raise IdempotencyMismatch
        return Done(HoldsCaptured(game_id=game.game_id, pool=game.pool))
    if not _are_all(holds, request, HoldStatus.HELD):
        raise HoldFailed
    try:
        await room_store.capture(tx, request, check_after_s)
    except IntegrityError as error:
        match store.violated(error):
            case "settlement_payout_config":
                raise InvalidRequest("there is no such payout table") from error
            case "settlement_pkey" | "settlement_room":
                raise IdempotencyMismatch from error
        raise
    changed = await _give_back(tx, await room_store.lock_held(tx, request.room_id))
    failpoints.hit("economy.capture.before_commit")
    pool = request.bet * len(request.holds)
    return Done(HoldsCaptured(game_id=request.game_id, pool=pool), changed)


def _are_all(holds: Sequence[Hold], request: CaptureHolds, status: HoldStatus) -> bool:
    """Tell whether exactly the holds of the request are there, each with this status."""
    expected = {
        Hold(Stake(ref.hold_id, ref.player_id, request.room_id, request.bet), status)
        for ref in request.holds
    }
    return len(holds) == len(request.holds) and set(holds) == expected


def _is_same_capture(game: Game, request: CaptureHolds) -> bool:
    return (
        game.room_id == request.room_id
        and game.bet == request.bet
        and game.holders == tuple(ref.player_id for ref in request.holds)
        and game.payout_config_version == request.payout_config_version
    )


async def get_hold(tx: Tx, request: GetHold) -> HoldView:
    hold = await room_store.find_hold(tx, request.hold_id)
    return HoldView(hold_id=request.hold_id, status=None if hold is None else hold.status)


# --- accounts -------------------------------------------------------------------------------------


async def get_balance(tx: Tx, player_id: UUID) -> Balance:
    """Return a player's money.

    Raises:
        NoAccountError: see there.
    """
    balance = await store.load_balance(tx, player_id)
    if balance is None:
        raise NoAccountError
    return balance


async def adjust(tx: Tx, request: Adjust) -> Done[Balance]:
    """Correct a balance by hand. Idempotent by ticket and player; answers the balance of now.

    Raises:
        InvalidRequest: for 0, or for more than a balance may come to.
        InsufficientFunds, IdempotencyMismatch: as they say.
        NoAccountError: see there.
    """
    if request.amount == 0:
        raise InvalidRequest("an adjustment changes something")
    if not await store.insert_adjustment(tx, request):
        if await store.load_adjustment(tx, request.ticket, request.player_id) != request:
            raise IdempotencyMismatch
        return Done(await get_balance(tx, request.player_id))
    if (await get_balance(tx, request.player_id)).available + request.amount > MAX_ADJUSTED:
        raise InvalidRequest("no balance is adjusted beyond what every client can read")
    transfer = ledger.adjustment(request.ticket, request.player_id, request.amount)
    try:
        await store.insert_transfers(tx, [transfer])
    except IntegrityError as error:
        raise _to_refusal(error) from error
    balance = await get_balance(tx, request.player_id)
    return Done(balance, [balance])


async def list_transfers(tx: Tx, request: ListTransfers) -> Transfers:
    """Return a page of a player's ledger, newest first.

    Raises:
        InvalidRequest: if the cursor is none of ours.
    """
    try:
        before = None if request.cursor is None else UUID(request.cursor)
    except ValueError as error:
        raise InvalidRequest("not a cursor") from error
    found = await store.list_transfers(tx, request.player_id, before, request.limit + 1)
    page = tuple(found[: request.limit])
    has_more = len(found) > request.limit
    return Transfers(items=page, next_cursor=str(page[-1].transfer_id) if has_more else None)
