"""Messages owned by the game engine: games, moves, views, results.

Messages of the hot path are msgspec structs and carry client frames as raw JSON, so that a frame
is encoded once, by the engine, and only copied after that.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec
from pydantic import Field

from shared.contracts.base import Command, Event, Message, Push
from shared.contracts.economy import FinishKind, Standing
from shared.errors import (
    RULES_ERRORS,
    Forbidden,
    GameNotFound,
    IdempotencyMismatch,
    InvalidRequest,
    PlayerNotInGame,
    StaleState,
)

MAX_SEQUENCE = 2**63 - 1


class GameStatus(StrEnum):
    RUNNING = "running"
    FINISHED = "finished"  # has a result (normal, forfeit or cancelled)
    ABANDONED = "abandoned"  # never created: the tombstone of a start that failed
    UNKNOWN = "unknown"


class GamePlayer(Message):
    player_id: UUID
    nickname: str
    is_bot: bool = False


class CreateGame(Message):
    """Create the game of a room and deal. Idempotent by ``game_id``; seats follow the order."""

    game_id: UUID
    room_id: UUID
    game: str
    mode: str
    options: dict[str, Any]
    players: tuple[GamePlayer, ...] = Field(min_length=2, max_length=8)
    has_stake: bool
    is_private: bool


class AbandonGame(Message):
    """Make sure that this game never starts.

    Answers what is true afterwards: ABANDONED (now or before), RUNNING or FINISHED (it exists).
    With a stake the engine's cancelled result is settled as refunds.
    """

    game_id: UUID
    room_id: UUID
    has_stake: bool
    player_ids: tuple[UUID, ...]


class GetGame(Message):
    game_id: UUID


class GameSummary(Message):
    """What other services may know of a game: no hidden information in it."""

    game_id: UUID
    status: GameStatus
    finish_kind: FinishKind | None = None
    standings: tuple[Standing, ...] = ()
    settled: bool = False


class ListGames(Message):
    player_id: UUID


class GameIds(Message):
    game_ids: tuple[UUID, ...]


class ListEvents(Message):
    """Audit events after a sequence. Private parts and the seed only once the game is over.

    ``player_id`` None asks as a spectator.
    """

    game_id: UUID
    player_id: UUID | None
    after: int = Field(default=0, ge=0, le=MAX_SEQUENCE)
    limit: int = Field(default=200, ge=1, le=1000)


class EventView(Message):
    sequence: int
    type: str
    seat: int | None
    payload: dict[str, Any]
    private: dict[str, Any] | None
    created_at: datetime


class Events(Message):
    events: tuple[EventView, ...]
    sequence: int


class GameResult(Message):
    """The durable result of a game (fact)."""

    game_id: UUID
    room_id: UUID
    game: str
    finish_kind: FinishKind
    standings: tuple[Standing, ...]
    has_stake: bool
    finished_at: datetime


# --- hot path -----------------------------------------------------------------------------------


class ActRequest(msgspec.Struct, frozen=True):
    """A player's action. Identity comes from the session, never from the client's frame.

    Attributes:
        sequence: Last sequence the player saw; None where the wire has none (no stale check).
        type: Action type, for instance "ATTACK".
        payload: The action's JSON object as the client sent it.
    """

    game_id: UUID
    player_id: UUID
    request_id: UUID
    sequence: int | None
    type: str
    payload: msgspec.Raw


class ActReply(msgspec.Struct, frozen=True):
    """Accepted and durable. A refusal is an error reply with ``sequence`` in its details."""

    sequence: int


class GetView(msgspec.Struct, frozen=True):
    """Ask for the present state; ``player_id`` None (or an outsider) gets the public view."""

    game_id: UUID
    player_id: UUID | None = None


class View(msgspec.Struct, frozen=True):
    """A game as one viewer may see it.

    Attributes:
        seats: Player ids in seat order.
        frames: Client frames, in order: GAME_STATE, private ones of the viewer, TURN_TIMER.
    """

    game_id: UUID
    sequence: int
    status: GameStatus
    is_private: bool
    seats: list[UUID]
    frames: list[msgspec.Raw]


class GetSequences(msgspec.Struct, frozen=True):
    """Ask for the sequences of watched games, and for the running games of players."""

    game_ids: list[UUID]
    player_ids: list[UUID] = []


class SequencesReply(msgspec.Struct, frozen=True):
    """Unknown games are left out; ``running`` names only players that have running games."""

    sequences: dict[UUID, int]
    running: dict[UUID, list[UUID]] = {}


class GamePush(msgspec.Struct, frozen=True, rename={"from_sequence": "from", "to_sequence": "to"}):
    """What one commit did to one game; on ``push.v1.game.<id>``.

    Attributes:
        from_sequence: Sequence before the commit; a receiver that has less has a gap.
        public: Client frames for everybody.
        private: Client frames for one player each, to be sent after the public ones.
        is_over: No further move can come.
    """

    from_sequence: int
    to_sequence: int
    public: list[msgspec.Raw]
    private: dict[UUID, list[msgspec.Raw]]
    is_over: bool = False


class BotTurn(msgspec.Struct, frozen=True):
    """A bot seat may act: exactly what that seat sees; on ``push.v1.bot.<player id>``.

    Attributes:
        public: The game's public view (JSON object).
        private: The seat's private view (JSON object).
    """

    game_id: UUID
    player_id: UUID
    seat: int
    game: str
    rules_version: str
    sequence: int
    public: msgspec.Raw
    private: msgspec.Raw


class BotTurns(msgspec.Struct, frozen=True):
    turns: list[BotTurn]


class NoContent(msgspec.Struct, frozen=True):
    """A request without content on the hot path's codec."""


_ACT_ERRORS = (
    *RULES_ERRORS, Forbidden, GameNotFound, InvalidRequest, PlayerNotInGame, StaleState,
)  # fmt: skip

CREATE_GAME = Command(
    "engine", "create_game", CreateGame, GameSummary, (IdempotencyMismatch, InvalidRequest)
)
ABANDON_GAME = Command("engine", "abandon_game", AbandonGame, GameSummary)
GET_GAME = Command("engine", "get_game", GetGame, GameSummary)
LIST_GAMES = Command("engine", "list_games", ListGames, GameIds)
LIST_EVENTS = Command("engine", "list_events", ListEvents, Events, (GameNotFound, PlayerNotInGame))
ACT = Command("engine", "act", ActRequest, ActReply, _ACT_ERRORS)
BOT_ACT = Command("engine", "bot_act", ActRequest, ActReply, _ACT_ERRORS)
GET_VIEW = Command("engine", "get_view", GetView, View, (GameNotFound, PlayerNotInGame))
GET_SEQUENCES = Command("engine", "sequences", GetSequences, SequencesReply)
LIST_WAITING_BOTS = Command("engine", "list_waiting_bots", NoContent, BotTurns)

GAME_FINISHED = Event("engine", "game_finished", GameResult, lambda r: r.game_id)

GAME_PUSH = Push("game", ("game_engine",))  # GamePush; key: game id
BOT_PUSH = Push("bot", ("game_engine",))  # BotTurn; key: player id of the bot
