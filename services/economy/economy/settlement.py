"""Settlement of a game: the one use case that pays a pool out (design: economy, section 3)."""

import hashlib
from collections.abc import Sequence
from uuid import UUID

from economy import room_store, store
from economy.domain import ledger, payout
from economy.domain.ledger import NIL
from economy.domain.payout import Payout, Share
from economy.room_store import Game, Result
from economy.usecases import Done
from shared import failpoints
from shared.bus import outbox
from shared.contracts.economy import (
    SETTLEMENT_COMPLETED,
    Credit,
    FinishKind,
    GetSettlement,
    Reason,
    Settle,
    Settlement,
    SettlementView,
)
from shared.db import Tx
from shared.errors import HoldFailed, IdempotencyMismatch, InvalidRequest, assert_invariant


async def settle(tx: Tx, request: Settle) -> Done[Settlement]:
    """Pay a finished game out of its escrow, close it and publish ``settlement_completed``.

    Idempotent by game: the lock on the settlement's row lets one in, the others find it finalized
    and return what is stored.

    Raises:
        HoldFailed: if the stakes of this game were never captured.
        IdempotencyMismatch: if the result is not about what was captured, or not the one that was
            settled.
        InvalidRequest: if the result contradicts itself.
    """
    locked = await room_store.lock_game(tx, request.game_id)
    if locked is None:
        raise HoldFailed("the stakes of this game are not captured", retryable=False)
    game, shares = locked
    _require_same_game(game, request)
    request_hash = _hash(request)
    if game.finish_kind is not None:
        if game.request_hash != request_hash:
            raise IdempotencyMismatch
        return Done(await _load_settlement(tx, game, game.finish_kind))

    division = _divide(game, shares, request)
    credits = {player_id: amount for player_id, amount in division.credits.items() if amount}
    await store.insert_transfers(
        tx,
        ledger.settlement(game.game_id, game.room_id, division.reason, credits, division.rake),
    )
    reply = _to_settlement(game, request.finish_kind, division.reason, credits, division.rake)
    places = {standing.player_id: standing.place for standing in request.standings}
    result = Result(
        request.finish_kind,
        [places[holder] for holder in game.holders],
        _forfeiter(request) if request.finish_kind is FinishKind.FORFEIT else None,
        request_hash,
    )
    event = outbox.event_row(SETTLEMENT_COMPLETED, reply)
    changed = await room_store.finalize(tx, game, result, list(credits), event)
    failpoints.hit("economy.settle.before_commit")
    return Done(reply, changed)


async def get_settlement(tx: Tx, request: GetSettlement) -> SettlementView:
    game = await room_store.find_game(tx, request.game_id)
    settlement = None
    if game is not None and game.finish_kind is not None:
        settlement = await _load_settlement(tx, game, game.finish_kind)
    return SettlementView(game_id=request.game_id, captured=game is not None, settlement=settlement)


def _require_same_game(game: Game, request: Settle) -> None:
    players = [standing.player_id for standing in request.standings]
    if (
        game.room_id != request.room_id
        or len(players) != len(game.holders)
        or set(players) != set(game.holders)
    ):
        raise IdempotencyMismatch("this result is not of the game that was captured")


def _hash(request: Settle) -> bytes:
    """Digest what decides the money, in an order of its own."""
    lines = sorted(f"{s.player_id} {s.place} {s.forfeited}" for s in request.standings)
    return hashlib.sha256("\n".join([request.finish_kind, *lines]).encode()).digest()


def _divide(game: Game, shares: Sequence[Share], request: Settle) -> Payout:
    match request.finish_kind:
        case FinishKind.NORMAL:
            places = {standing.player_id: standing.place for standing in request.standings}
            return payout.by_places(game.pool, shares, places)
        case FinishKind.FORFEIT:
            return payout.forfeit(game.bet, game.holders, _forfeiter(request))
        case FinishKind.CANCELLED:
            return payout.cancelled(game.bet, game.holders)


def _forfeiter(request: Settle) -> UUID:
    forfeiters = [standing.player_id for standing in request.standings if standing.forfeited]
    if len(forfeiters) != 1:
        raise InvalidRequest("a forfeit has exactly one forfeiter")
    return forfeiters[0]


async def _load_settlement(tx: Tx, game: Game, finish_kind: FinishKind) -> Settlement:
    """Rebuild from the ledger what a finalized game was paid."""
    paid = await store.list_credits(tx, game.game_id, game.room_id)
    amounts = {owner_id: amount for owner_id, amount, _ in paid}
    reasons = {reason for owner_id, _, reason in paid if owner_id != NIL}
    assert_invariant(len(reasons) <= 1, "all credits of a settlement have one reason")
    rake = amounts.pop(NIL, 0)
    reason = next(iter(reasons), ledger.Reason.PAYOUT)
    return _to_settlement(game, finish_kind, reason, amounts, rake, already_finalized=True)


def _to_settlement(
    game: Game,
    finish_kind: FinishKind,
    reason: ledger.Reason,
    credits: dict[UUID, int],
    rake: int,
    *,
    already_finalized: bool = False,
) -> Settlement:
    return Settlement(
        game_id=game.game_id,
        room_id=game.room_id,
        finish_kind=finish_kind,
        pool=game.pool,
        rake=rake,
        credits=tuple(
            Credit(player_id=holder, amount=credits[holder], reason=Reason(reason))
            for holder in game.holders
            if holder in credits
        ),
        already_finalized=already_finalized,
    )
