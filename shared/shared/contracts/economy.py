"""Messages owned by economy: money (design: economy, spec §5-8, 13, 14)."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import AwareDatetime, Field

from shared.contracts.base import Command, Event, Message
from shared.errors import (
    HoldFailed,
    IdempotencyMismatch,
    InsufficientFunds,
    InvalidBet,
    InvalidRequest,
)
from shared.money import MAX_BET, MIN_BET

# What a database could not store is refused here, as a request of the wrong shape.
Moment = Annotated[
    AwareDatetime,
    Field(ge=datetime(2000, 1, 1, tzinfo=UTC), lt=datetime(3000, 1, 1, tzinfo=UTC)),
]
StakeAmount = Annotated[int, Field(ge=MIN_BET, le=MAX_BET)]
_PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f]+$"


class HoldStatus(StrEnum):
    HELD = "held"
    CAPTURED = "captured"
    RELEASED = "released"


class FinishKind(StrEnum):
    NORMAL = "normal"
    FORFEIT = "forfeit"
    CANCELLED = "cancelled"


class Reason(StrEnum):
    BET = "bet"
    PAYOUT = "payout"
    REFUND = "refund"
    RAKE = "rake"
    ADMIN_ADJUSTMENT = "admin_adjustment"
    GRANT = "grant"


class PlaceHold(Message):
    """Take a stake from a player into the room's escrow. Idempotent by ``hold_id``.

    ``registered`` is false for guests, who get no opening grant. An amount out of bounds is
    ERR_INVALID_BET.
    """

    hold_id: UUID
    player_id: UUID
    room_id: UUID
    amount: int
    expires_at: Moment
    registered: bool = True


class ReleaseHold(Message):
    """Give a stake back. Idempotent by ``hold_id``; an unknown hold leaves a tombstone."""

    hold_id: UUID
    player_id: UUID
    room_id: UUID
    amount: StakeAmount


class GetHold(Message):
    hold_id: UUID


class HoldView(Message):
    """The *current* status of a hold; ``status`` is None if no such hold is known."""

    hold_id: UUID
    status: HoldStatus | None


class HoldRef(Message):
    hold_id: UUID
    player_id: UUID


class CaptureHolds(Message):
    """Fix the stakes of a game, all or nothing: the pivot of the start saga.

    Idempotent by ``game_id``: same content returns the stored pool, other content is
    ERR_IDEMPOTENCY_MISMATCH. ERR_HOLD_FAILED if any hold is not held (nothing is captured then).
    """

    room_id: UUID
    game_id: UUID
    bet: StakeAmount
    holds: tuple[HoldRef, ...] = Field(min_length=2, max_length=4)
    payout_config_version: int = Field(ge=1, lt=2**31)


class HoldsCaptured(Message):
    game_id: UUID
    pool: int


class Standing(Message):
    """One player's outcome. ``place`` is None where the game gave none (forfeit, cancelled)."""

    player_id: UUID
    place: int | None = Field(ge=1, le=8)
    forfeited: bool = False


class Settle(Message):
    """Pay a finished game out of its escrow. Only the engine calls it; idempotent by game."""

    game_id: UUID
    room_id: UUID
    finish_kind: FinishKind
    standings: tuple[Standing, ...]


class Credit(Message):
    player_id: UUID
    amount: int
    reason: Reason


class Settlement(Message):
    """What was paid; ``already_finalized`` tells a repeated settlement from the first."""

    game_id: UUID
    room_id: UUID
    finish_kind: FinishKind
    pool: int
    rake: int
    credits: tuple[Credit, ...]
    already_finalized: bool = False


class GetSettlement(Message):
    game_id: UUID


class SettlementView(Message):
    """``captured``: the pivot was passed; ``settlement``: set once the game is finalized."""

    game_id: UUID
    captured: bool
    settlement: Settlement | None


class GetBalance(Message):
    player_id: UUID
    registered: bool = True


class Balance(Message):
    """Money of a player in the smallest unit; ``version`` grows with every change."""

    player_id: UUID
    available: int
    held: int
    version: int


class ListTransfers(Message):
    player_id: UUID
    cursor: str | None = Field(default=None, max_length=100)
    limit: int = Field(default=50, ge=1, le=200)


class TransferView(Message):
    """A ledger entry as its player sees it: ``amount`` > 0 came in, < 0 went out."""

    transfer_id: UUID
    amount: int
    reason: Reason
    room_id: UUID | None
    game_id: UUID | None
    created_at: datetime


class Transfers(Message):
    items: tuple[TransferView, ...]
    next_cursor: str | None


class Adjust(Message):
    """Correct a balance by hand (mint <-> player). Idempotent by ``ticket`` and player."""

    ticket: str = Field(min_length=1, max_length=80, pattern=_PRINTABLE)
    player_id: UUID
    amount: int = Field(ge=-MAX_BET, le=MAX_BET)
    note: str = Field(min_length=1, max_length=500, pattern=_PRINTABLE)
    actor: str = Field(min_length=1, max_length=80, pattern=_PRINTABLE)


PLACE_HOLD = Command(
    "economy", "place_hold", PlaceHold, HoldView,
    (InsufficientFunds, HoldFailed, InvalidBet, IdempotencyMismatch),
)  # fmt: skip
RELEASE_HOLD = Command(
    "economy", "release_hold", ReleaseHold, HoldView,
    (HoldFailed, IdempotencyMismatch, InvalidRequest),
)  # fmt: skip
GET_HOLD = Command("economy", "get_hold", GetHold, HoldView)
CAPTURE_HOLDS = Command(
    "economy", "capture_holds", CaptureHolds, HoldsCaptured,
    (HoldFailed, IdempotencyMismatch, InvalidRequest),
)  # fmt: skip
SETTLE = Command(
    "economy", "settle", Settle, Settlement, (IdempotencyMismatch, HoldFailed, InvalidRequest)
)
GET_SETTLEMENT = Command("economy", "get_settlement", GetSettlement, SettlementView)
GET_BALANCE = Command("economy", "get_balance", GetBalance, Balance)
LIST_TRANSFERS = Command("economy", "list_transfers", ListTransfers, Transfers, (InvalidRequest,))
ADJUST = Command(
    "economy", "adjust", Adjust, Balance, (IdempotencyMismatch, InsufficientFunds, InvalidRequest)
)

SETTLEMENT_COMPLETED = Event("economy", "settlement_completed", Settlement, lambda s: s.game_id)
