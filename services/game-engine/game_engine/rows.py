"""How a game is written to its row and read from it."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from game_engine.domain.record import (
    GameInfo,
    GameRecord,
    Outcome,
    Preference,
    Status,
    make_info,
)
from games.registry import get_game

# Columns that a game's course changes, and those it does not, in the order the readers expect.
CHANGING: Final = (
    "status", "sequence", "revision", "fresh_from", "snapshot", "preferences", "deadline_ms",
    "updated_ms", "expiries", "result",
)  # fmt: skip
FIXED: Final = (
    "game_id", "room_id", "game", "rules_version", "mode", "players", "nicknames", "bots",
    "is_private", "has_stake", "seed", "commitment",
)  # fmt: skip
CHANGING_SQL: Final = ", ".join(f"g.{name}" for name in CHANGING)
FIXED_SQL: Final = ", ".join(f"g.{name}" for name in FIXED)

decode_result = msgspec.json.Decoder(Outcome).decode
_decode_preferences = msgspec.msgpack.Decoder(tuple[Preference, ...]).decode
encode_preferences = msgspec.msgpack.Encoder().encode


def read_info(row: Sequence[Any]) -> GameInfo:
    """Read the columns ``FIXED``."""
    (game_id, room_id, game, rules_version, mode, players, nicknames, bots,
     is_private, has_stake, seed, commitment) = row  # fmt: skip
    return make_info(
        game_id=game_id,
        room_id=room_id,
        rules=get_game(game, rules_version),
        mode=mode,
        players=tuple(players),
        nicknames=tuple(nicknames),
        bots=tuple(bots),
        is_private=is_private,
        has_stake=has_stake,
        seed=bytes(seed),
        commitment=commitment,
    )


def read_record(info: GameInfo, row: Sequence[Any]) -> GameRecord:
    """Read the columns ``CHANGING`` of a game that was created."""
    (status, sequence, revision, fresh_from, snapshot, preferences, deadline_ms, updated_ms,
     expiries, result) = row  # fmt: skip
    return GameRecord(
        info=info,
        status=Status(status),
        sequence=sequence,
        revision=revision,
        fresh_from=fresh_from,
        state=info.rules.decode_state(snapshot),
        deadline_ms=deadline_ms,
        updated_ms=updated_ms,
        expiries=expiries,
        preferences=_decode_preferences(preferences),
        result=None if result is None else decode_result(result),
    )
