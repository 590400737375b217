"""The engine as the gateway sees it: games of which only the sequence matters."""

import asyncio
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec
from typing_extensions import override

from services.realtime.tests.integration.fakes import Partner
from shared import errors
from shared.bus import Bus
from shared.contracts import engine
from shared.contracts.realtime import USER_PUSH, frame
from shared.ids import new_id


@dataclass(slots=True)
class FakeGame:
    """A game of which only the sequence matters."""

    seats: list[UUID]
    is_private: bool = False
    id: UUID = field(default_factory=new_id)
    sequence: int = 3
    status: engine.GameStatus = engine.GameStatus.RUNNING
    replies: dict[tuple[UUID, UUID], int] = field(default_factory=dict)

    def state(self) -> bytes:
        players = [
            {"seat": seat, "player_id": player_id, "card_count": 6, "connected": True}
            for seat, player_id in enumerate(self.seats)
        ]
        return frame("GAME_STATE", game_id=self.id, sequence=self.sequence, players=players)

    def hand(self, player_id: UUID) -> bytes:
        return frame(
            "YOUR_HAND", game_id=self.id, sequence=self.sequence, cards=[], owner=player_id
        )

    def timer(self) -> bytes:
        return frame("TURN_TIMER", game_id=self.id, sequence=self.sequence, deadline=1)

    def view(self, player_id: UUID | None) -> engine.View:
        parts = [self.state()]
        if player_id in self.seats:
            parts.append(self.hand(player_id))
        parts.append(self.timer())
        raw = [msgspec.Raw(part) for part in parts]
        return engine.View(self.id, self.sequence, self.status, self.is_private, self.seats, raw)

    def push(self, before: int) -> engine.GamePush:
        is_over = self.status is not engine.GameStatus.RUNNING
        event = frame("GAME_EVENT", game_id=self.id, sequence=self.sequence, event="ATTACK")
        return engine.GamePush(
            before,
            self.sequence,
            [msgspec.Raw(event), msgspec.Raw(self.state())],
            {player: [msgspec.Raw(self.hand(player))] for player in self.seats},
            is_over,
        )


class FakeEngine(Partner):
    """Holds games; ``fail_acts`` are answered, in order, before anything else is done."""

    user = "game_engine"

    def __init__(self) -> None:
        super().__init__()
        self.games: dict[UUID, FakeGame] = {}
        self.fail_acts: list[errors.AppError | None] = []  # None: no answer at all
        self.acts: list[engine.ActRequest] = []
        self.fail_views: list[errors.AppError] = []
        self.stopping = asyncio.Event()

    @override
    async def stop(self) -> None:
        self.stopping.set()
        await super().stop()

    @override
    async def serve(self, bus: Bus) -> None:
        await bus.serve(engine.ACT, self._act)
        await bus.serve(engine.GET_VIEW, self._view)
        await bus.serve(engine.GET_SEQUENCES, self._sequences)
        await bus.serve(engine.LIST_GAMES, self._list)
        await bus.serve(engine.LIST_EVENTS, self._events)

    def game(self, *seats: UUID, **fields: Any) -> FakeGame:
        game = FakeGame(list(seats), **fields)
        self.games[game.id] = game
        return game

    async def announce(self, game: FakeGame) -> None:
        """Tell every player that the game has begun."""
        for seat, player_id in enumerate(game.seats):
            started = frame("GAME_STARTED", game_id=game.id, sequence=game.sequence, your_seat=seat)
            await self.connected.push(USER_PUSH, player_id, started)

    async def advance(self, game: FakeGame, *, is_lost: bool = False, by: int = 1) -> None:
        """Commit something, and push it unless that gets lost."""
        before, game.sequence = game.sequence, game.sequence + by
        if not is_lost:
            await self.push(game, before)

    async def push(self, game: FakeGame, before: int) -> None:
        payload = msgspec.json.encode(game.push(before))
        await self.connected.push(engine.GAME_PUSH, game.id, payload)

    async def finish(self, game: FakeGame, *, is_lost: bool = False) -> None:
        game.status = engine.GameStatus.FINISHED
        await self.advance(game, is_lost=is_lost)

    async def _act(self, request: engine.ActRequest) -> engine.ActReply:
        self.acts.append(request)
        if self.fail_acts:
            failure = self.fail_acts.pop(0)
            if failure is not None:
                raise failure
            await self.stopping.wait()
            raise errors.Unavailable
        game = self._game(request.game_id)
        if request.player_id not in game.seats:
            raise errors.PlayerNotInGame
        known = game.replies.get((request.player_id, request.request_id))
        if known is not None:
            return engine.ActReply(known)
        if request.sequence is not None and request.sequence != game.sequence:
            raise errors.StaleState(sequence=game.sequence)
        await self.advance(game)
        game.replies[request.player_id, request.request_id] = game.sequence
        return engine.ActReply(game.sequence)

    async def _view(self, request: engine.GetView) -> engine.View:
        if self.fail_views:
            raise self.fail_views.pop(0)
        return self._game(request.game_id).view(request.player_id)

    async def _sequences(self, request: engine.GetSequences) -> engine.SequencesReply:
        known = {g: self.games[g].sequence for g in request.game_ids if g in self.games}
        running = {player_id: self._running(player_id) for player_id in request.player_ids}
        return engine.SequencesReply(known, {p: games for p, games in running.items() if games})

    async def _list(self, request: engine.ListGames) -> engine.GameIds:
        return engine.GameIds(game_ids=tuple(self._running(request.player_id)))

    async def _events(self, request: engine.ListEvents) -> engine.Events:
        self.calls.append(request)
        game = self._game(request.game_id)
        if game.is_private and request.player_id not in game.seats:
            raise errors.PlayerNotInGame
        return engine.Events(events=(), sequence=game.sequence)

    def _running(self, player_id: UUID) -> list[UUID]:
        return [
            game.id
            for game in self.games.values()
            if player_id in game.seats and game.status is engine.GameStatus.RUNNING
        ]

    def _game(self, game_id: UUID) -> FakeGame:
        if game_id not in self.games:
            raise errors.GameNotFound
        return self.games[game_id]
