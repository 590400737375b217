"""A game in memory: what was fixed at its start, and one version of what its course changes."""

from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from games.base import FinishKind
from games.registry import AnyGame

encode_json = msgspec.json.Encoder().encode


class Status(StrEnum):
    """States of a stored game; an abandoned one is the tombstone of a start that failed."""

    RUNNING = "running"
    FINISHED = "finished"
    ABANDONED = "abandoned"


class Place(Struct, frozen=True):
    """The outcome for one seat."""

    seat: int
    player_id: UUID
    place: int | None
    forfeited: bool


class Outcome(Struct, frozen=True):
    """The result of a game, as it is stored and shown."""

    finish_kind: FinishKind
    standings: tuple[Place, ...]


class Preference(Struct, frozen=True, array_like=True):
    """An accepted command that raised no sequence, and so has no event to be remembered by."""

    player_id: bytes
    request_id: bytes
    body_hash: bytes
    reply_sequence: int


class GameInfo(Struct, frozen=True, kw_only=True):
    """What never changes: players in seat order, rules, seed.

    Attributes:
        id_text: The game id as frames write it.
        seats: Seat of each player.
        seat_heads: By seat, how its JSON object in GAME_STATE begins.
    """

    game_id: UUID
    room_id: UUID
    rules: Any  # AnyGame: a protocol, which msgspec cannot describe
    mode: str
    players: tuple[UUID, ...]
    nicknames: tuple[str, ...]
    bots: tuple[bool, ...]
    is_private: bool
    has_stake: bool
    seed: bytes
    commitment: str
    id_text: bytes
    seats: dict[UUID, int]
    seat_heads: tuple[bytes, ...]
    has_bots: bool


class GameRecord(Struct, kw_only=True):
    """One version of a game.

    ``state`` is never changed; a command makes another record. ``private_views`` is filled by
    ``private_views_of`` when it is first asked for.
    """

    info: GameInfo
    status: Status
    sequence: int
    revision: int
    fresh_from: int
    state: Any
    deadline_ms: int | None
    updated_ms: int
    expiries: int = 0
    preferences: tuple[Preference, ...] = ()
    result: Outcome | None = None
    private_views: tuple[bytes, ...] | None = None


def make_info(
    *,
    game_id: UUID,
    room_id: UUID,
    rules: AnyGame,
    mode: str,
    players: tuple[UUID, ...],
    nicknames: tuple[str, ...],
    bots: tuple[bool, ...],
    is_private: bool,
    has_stake: bool,
    seed: bytes,
    commitment: str,
) -> GameInfo:
    """Build the fixed part, with what follows from it."""
    heads = tuple(
        encode_json({"player_id": player, "nickname": nickname, "is_bot": is_bot})[:-1] + b","
        for player, nickname, is_bot in zip(players, nicknames, bots, strict=True)
    )
    return GameInfo(
        game_id=game_id,
        room_id=room_id,
        rules=rules,
        mode=mode,
        players=players,
        nicknames=nicknames,
        bots=bots,
        is_private=is_private,
        has_stake=has_stake,
        seed=seed,
        commitment=commitment,
        id_text=str(game_id).encode(),
        seats={player: seat for seat, player in enumerate(players)},
        seat_heads=heads,
        has_bots=any(bots),
    )
