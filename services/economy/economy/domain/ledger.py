"""Every transfer there is: who pays whom, why, and under which key (design: economy, section 1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

NIL = UUID(int=0)


class AccountKind(StrEnum):
    PLAYER = "player"
    ESCROW = "escrow"
    HOUSE = "house"
    MINT = "mint"


class Reason(StrEnum):
    BET = "bet"
    PAYOUT = "payout"
    REFUND = "refund"
    RAKE = "rake"
    ADMIN_ADJUSTMENT = "admin_adjustment"
    GRANT = "grant"


@dataclass(frozen=True, slots=True)
class Account:
    """Names an account: a player's, a room's escrow, or one of the two single ones."""

    kind: AccountKind
    owner_id: UUID


HOUSE = Account(AccountKind.HOUSE, NIL)  # receives the rake
MINT = Account(AccountKind.MINT, NIL)  # where money comes into being


def player(player_id: UUID) -> Account:
    return Account(AccountKind.PLAYER, player_id)


def escrow(room_id: UUID) -> Account:
    return Account(AccountKind.ESCROW, room_id)


@dataclass(frozen=True, slots=True)
class Transfer:
    """One row of the ledger: ``amount`` > 0 goes from debit to credit.

    Attributes:
        key: Idempotency key; the ledger takes each key once.
        game_id: Set where a settlement pays, not where a hold is released.
    """

    key: str
    debit: Account
    credit: Account
    amount: int
    reason: Reason
    room_id: UUID | None = None
    game_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Stake:
    """What a hold takes from a player into the escrow of a room."""

    hold_id: UUID
    player_id: UUID
    room_id: UUID
    amount: int


def bet(stake: Stake) -> Transfer:
    return Transfer(
        f"hold:{stake.hold_id}:bet",
        player(stake.player_id),
        escrow(stake.room_id),
        stake.amount,
        Reason.BET,
        stake.room_id,
    )


def refund(stake: Stake) -> Transfer:
    """Give the stake of a released hold back."""
    return Transfer(
        f"hold:{stake.hold_id}:refund",
        escrow(stake.room_id),
        player(stake.player_id),
        stake.amount,
        Reason.REFUND,
        stake.room_id,
    )


def settlement(
    game_id: UUID, room_id: UUID, reason: Reason, credits: Mapping[UUID, int], rake: int
) -> list[Transfer]:
    """Pay an escrow out. Zero amounts make no transfer.

    Args:
        game_id: The game that is settled.
        room_id: Whose escrow it is.
        reason: PAYOUT or REFUND: what the players' credits are.
        credits: Player to amount.
        rake: What is left for the house.
    """
    source = escrow(room_id)
    transfers = [
        Transfer(
            f"game:{game_id}:player:{player_id}:{reason}",
            source,
            player(player_id),
            amount,
            reason,
            room_id,
            game_id,
        )
        for player_id, amount in credits.items()
        if amount
    ]
    if rake:
        key = f"game:{game_id}:rake"
        transfers.append(Transfer(key, source, HOUSE, rake, Reason.RAKE, room_id, game_id))
    return transfers


def grant(player_id: UUID, amount: int) -> Transfer:
    """The opening grant: once for each player."""
    return Transfer(f"signup:{player_id}", MINT, player(player_id), amount, Reason.GRANT)


def adjustment(ticket: str, player_id: UUID, amount: int) -> Transfer:
    """Correct a balance by hand: up from the mint, down into it."""
    debit, credit = MINT, player(player_id)
    if amount < 0:
        debit, credit = credit, debit
    key = f"admin:{ticket}:{player_id}"
    return Transfer(key, debit, credit, abs(amount), Reason.ADMIN_ADJUSTMENT)
