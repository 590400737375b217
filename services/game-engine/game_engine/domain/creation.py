"""A new game: its record and its first events."""

from typing import Any
from uuid import UUID

from msgspec import Struct

from game_engine.domain.change import NewEvent, deadline_of
from game_engine.domain.record import GameRecord, Status, encode_json, make_info
from games.registry import latest_game
from games.shuffle import commitment
from shared.errors import InvalidRequest


class NewGame(Struct, frozen=True, kw_only=True):
    """What a game is made of besides its seed."""

    game_id: UUID
    room_id: UUID
    game: str
    mode: str
    options: dict[str, Any]
    players: tuple[UUID, ...]
    nicknames: tuple[str, ...]
    bots: tuple[bool, ...]
    is_private: bool
    has_stake: bool


class CreatedGame(Struct, frozen=True):
    """``options`` are complete, as JSON: what the rules were given."""

    record: GameRecord
    options: bytes
    events: list[NewEvent]


def new_game(new: NewGame, seed: bytes, now_ms: int) -> CreatedGame:
    """Deal under the newest rules.

    Raises:
        InvalidRequest: no such game, mode, option or number of players; a player sits twice.
    """
    if len(set(new.players)) != len(new.players):
        raise InvalidRequest("a player sits twice")
    rules = latest_game(new.game)
    options = rules.decode_options(encode_json({**new.options, "mode": new.mode}))
    state, dealt = rules.setup(len(new.players), options, seed, now_ms)
    info = make_info(
        game_id=new.game_id,
        room_id=new.room_id,
        rules=rules,
        mode=new.mode,
        players=new.players,
        nicknames=new.nicknames,
        bots=new.bots,
        is_private=new.is_private,
        has_stake=new.has_stake,
        seed=seed,
        commitment=commitment(seed),
    )
    created = {
        "game": new.game, "mode": new.mode, "rules_version": rules.rules_version,
        "options": options, "players": len(new.players), "commitment": info.commitment,
    }  # fmt: skip
    joined = [
        {"player_id": player, "nickname": nickname, "is_bot": is_bot}
        for player, nickname, is_bot in zip(new.players, new.nicknames, new.bots, strict=True)
    ]
    parts: list[tuple[str, int | None, Any, Any]] = [
        ("GAME_CREATED", None, created, None),
        *(("PLAYER_JOINED", seat, payload, None) for seat, payload in enumerate(joined)),
        ("GAME_STARTED", None, {"commitment": info.commitment}, None),
        *((event.type, event.seat, event.payload, event.private) for event in dealt),
    ]
    events = [
        NewEvent(
            sequence, type_, seat, encode_json(payload),
            None if private is None else encode_json(private),
        )
        for sequence, (type_, seat, payload, private) in enumerate(parts, 1)
    ]  # fmt: skip
    record = GameRecord(
        info=info,
        status=Status.RUNNING,
        sequence=len(events),
        revision=1,
        fresh_from=len(events),
        state=state,
        deadline_ms=deadline_of(rules, state, now_ms),
        updated_ms=now_ms,
    )
    return CreatedGame(record, encode_json(options), events)
