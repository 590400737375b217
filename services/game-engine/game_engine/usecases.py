"""What changes games beside moves: creation, abandonment, the audit of the settlement.

Each is one transaction and idempotent by the game's id.
"""

import hashlib
from uuid import UUID

from msgspec import Struct

from game_engine import queries
from game_engine.domain.change import NewEvent
from game_engine.domain.creation import NewGame, new_game
from game_engine.domain.record import GameRecord, Outcome, Place, Status, encode_json
from game_engine.domain.settlement import settlement_events
from game_engine.results import standings_of
from games.base import FinishKind
from shared.bus import outbox
from shared.contracts import economy
from shared.contracts.base import encode
from shared.contracts.engine import AbandonGame, CreateGame, GameStatus, GameSummary
from shared.db import Tx
from shared.errors import IdempotencyMismatch, InvariantBrokenError


class Created(Struct, frozen=True):
    """Answer of ``create_game``; ``record`` is set while the game runs."""

    summary: GameSummary
    record: GameRecord | None


async def create_game(tx: Tx, request: CreateGame, seed: bytes, now_ms: int) -> Created:
    """Create and deal.

    Idempotent by game_id: the same content finds the stored game, with the seed it has.

    Raises:
        IdempotencyMismatch: the id is taken by a game of other content.
        InvalidRequest: no such game, mode, option or number of players.
    """
    request_hash = hashlib.sha256(encode(request)).digest()
    game = new_game(
        NewGame(
            game_id=request.game_id,
            room_id=request.room_id,
            game=request.game,
            mode=request.mode,
            options=request.options,
            players=tuple(player.player_id for player in request.players),
            nicknames=tuple(player.nickname for player in request.players),
            bots=tuple(player.is_bot for player in request.players),
            is_private=request.is_private,
            has_stake=request.has_stake,
        ),
        seed,
        now_ms,
    )
    if await queries.insert_game(tx, game.record, game.options, request_hash):
        await queries.insert_events(tx, request.game_id, game.events, now_ms)
        return Created(_summary(request.game_id, Status.RUNNING), game.record)
    stored = await queries.get_summary(tx, request.game_id)
    if stored is None:
        raise InvariantBrokenError("the row that was in the way is gone")
    if stored.request_hash not in (None, request_hash):  # None: a tombstone
        raise IdempotencyMismatch
    record = None
    if stored.status is Status.RUNNING:
        record = await queries.get_record(tx, request.game_id)
    return Created(summary_of(request.game_id, stored), record)


async def abandon_game(tx: Tx, request: AbandonGame, now_ms: int) -> GameSummary:
    """Make sure that a game never starts. Idempotent by game_id: the row is the tombstone."""
    result = Outcome(
        FinishKind.CANCELLED,
        tuple(Place(seat, player, None, False) for seat, player in enumerate(request.player_ids)),
    )
    events = [
        NewEvent(1, "RECOVERY", None, encode_json({"reason": "start_failed"})),
        NewEvent(2, "GAME_FINISHED", None, encode_json({"finish_kind": result.finish_kind})),
    ]
    tombstone = queries.Tombstone(
        request.game_id, request.room_id, request.player_ids, request.has_stake, len(events),
        result, now_ms,
    )  # fmt: skip
    if await queries.insert_tombstone(tx, tombstone):
        await queries.insert_events(tx, request.game_id, events, now_ms)
        if request.has_stake:
            settle = economy.Settle(
                game_id=request.game_id,
                room_id=request.room_id,
                finish_kind=economy.FinishKind.CANCELLED,
                standings=standings_of(result),
            )
            await outbox.call(tx, economy.SETTLE, settle)
    return await get_game(tx, request.game_id)


async def get_game(tx: Tx, game_id: UUID) -> GameSummary:
    """Tell how a game stands."""
    stored = await queries.get_summary(tx, game_id)
    if stored is None:
        return GameSummary(game_id=game_id, status=GameStatus.UNKNOWN)
    return summary_of(game_id, stored)


async def record_settlement(
    tx: Tx, settlement: economy.Settlement, now_ms: int, *, is_repair: bool = False
) -> None:
    """Append what was paid to the audit events. Idempotent by ``settled_at``; locks the game."""
    game_id = settlement.game_id
    game = await queries.get_summary(tx, game_id, lock=True)
    if game is None or game.status is Status.RUNNING:
        raise InvariantBrokenError(f"settled, but not finished: {game_id}")
    if game.is_settled:
        return
    events = settlement_events(settlement, game.players, game.sequence, is_repair=is_repair)
    await queries.insert_events(tx, game_id, events, now_ms)
    await queries.settle(tx, game_id, events[-1].sequence)


def summary_of(game_id: UUID, stored: queries.Summary) -> GameSummary:
    """Build the summary that other services may see."""
    result = stored.result
    return GameSummary(
        game_id=game_id,
        status=GameStatus(stored.status.value),
        finish_kind=None if result is None else economy.FinishKind(result.finish_kind.value),
        standings=standings_of(result),
        settled=stored.is_settled,
    )


def _summary(game_id: UUID, status: Status) -> GameSummary:
    return GameSummary(game_id=game_id, status=GameStatus(status.value))
