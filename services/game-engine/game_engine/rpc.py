"""The commands and queries of the engine, but for moves (``batch``)."""

import os
from typing import Any

import msgspec

from game_engine import frames, queries, usecases
from game_engine.clock import DatabaseClock
from game_engine.deadlines import Heartbeat
from game_engine.domain.change import put_off
from game_engine.domain.record import GameRecord, Status
from game_engine.domain.replay import StoredRow
from games.shuffle import SEED_BYTES
from shared import failpoints
from shared.bus import Bus
from shared.clock import from_ms
from shared.contracts import engine
from shared.contracts.base import encode
from shared.contracts.realtime import USER_PUSH, frame
from shared.db import Database
from shared.errors import GameNotFound, PlayerNotInGame

QUIET_MS = 1000
BOT_GAMES = 200


class EngineRpc:
    """Serves what other services ask of the engine."""

    def __init__(self, db: Database, bus: Bus, clock: DatabaseClock, heartbeat: Heartbeat) -> None:
        self._db = db
        self._bus = bus
        self._clock = clock
        self._heartbeat = heartbeat

    async def serve(self) -> None:
        bus = self._bus
        await bus.serve(engine.CREATE_GAME, self.create_game)
        await bus.serve(engine.ABANDON_GAME, self.abandon_game)
        await bus.serve(engine.GET_GAME, self.get_game)
        await bus.serve(engine.LIST_GAMES, self.list_games)
        await bus.serve(engine.LIST_EVENTS, self.list_events)
        await bus.serve(engine.GET_VIEW, self.get_view)
        await bus.serve(engine.GET_SEQUENCES, self.get_sequences)
        await bus.serve(engine.LIST_WAITING_BOTS, self.list_waiting_bots)

    async def create_game(self, request: engine.CreateGame) -> engine.GameSummary:
        """Idempotent by game_id; says GAME_STARTED again if it is repeated."""
        await self._heartbeat.ensure_known()
        seed, now_ms = os.urandom(SEED_BYTES), self._clock.now_ms()
        created = await self._db.run(lambda tx: usecases.create_game(tx, request, seed, now_ms))
        failpoints.hit("engine.create.after_commit")
        if created.record is not None:
            await self._announce(created.record)
        return created.summary

    async def abandon_game(self, request: engine.AbandonGame) -> engine.GameSummary:
        """Idempotent by game_id: the tombstone has the game's key."""
        now_ms = self._clock.now_ms()
        return await self._db.run(lambda tx: usecases.abandon_game(tx, request, now_ms))

    async def get_game(self, request: engine.GetGame) -> engine.GameSummary:
        return await self._db.read(lambda tx: usecases.get_game(tx, request.game_id))

    async def list_games(self, request: engine.ListGames) -> engine.GameIds:
        found = await self._db.read(lambda tx: queries.list_running(tx, [request.player_id]))
        return engine.GameIds(game_ids=tuple(game_id for game_id, _ in found))

    async def get_sequences(self, request: engine.GetSequences) -> engine.SequencesReply:
        sequences = await self._db.read(lambda tx: queries.list_sequences(tx, request.game_ids))
        if not request.player_ids:
            return engine.SequencesReply(sequences)
        asked = set(request.player_ids)
        running: dict[Any, list[Any]] = {}
        for game_id, players in await self._db.read(
            lambda tx: queries.list_running(tx, request.player_ids)
        ):
            for player in asked.intersection(players):
                running.setdefault(player, []).append(game_id)
        return engine.SequencesReply(sequences, running)

    async def get_view(self, request: engine.GetView) -> engine.View:
        """Read from the database, so never older than the question."""
        await self._heartbeat.ensure_known()
        record = await self._db.read(lambda tx: queries.get_record(tx, request.game_id))
        if record is None:
            raise GameNotFound
        info = record.info
        seat = None if request.player_id is None else info.seats.get(request.player_id)
        if seat is None and info.is_private:
            raise PlayerNotInGame
        record = put_off(record, self._heartbeat.outages)
        return engine.View(
            info.game_id,
            record.sequence,
            engine.GameStatus(record.status.value),
            info.is_private,
            list(info.players),
            frames.view_frames(record, seat, self._clock.now_ms()),
        )

    async def list_events(self, request: engine.ListEvents) -> engine.Events:
        """Show public parts while the game runs, everything after its end."""
        game_id = request.game_id
        # Read before the events: a game that was over then is over for all of them.
        game = await self._db.read(lambda tx: queries.get_summary(tx, game_id))
        if game is None:
            raise GameNotFound
        if game.is_private and request.player_id not in game.players:
            raise PlayerNotInGame
        rows = await self._db.read(
            lambda tx: queries.list_events(tx, game_id, request.after, request.limit)
        )
        is_over = game.status is not Status.RUNNING
        return engine.Events(
            events=tuple(_event_view(row, is_over=is_over) for row in rows),
            sequence=max(game.sequence, rows[-1].sequence if rows else 0),
        )

    async def list_waiting_bots(self, _: engine.NoContent) -> engine.BotTurns:
        """List bots that a game has waited for a while: their push may be lost."""
        quiet_since_ms = self._clock.now_ms() - QUIET_MS
        records = await self._db.read(
            lambda tx: queries.list_bot_games(tx, quiet_since_ms, BOT_GAMES)
        )
        turns = []
        for record in records:
            awaited = record.info.rules.awaited_seats(record.state)
            turns += [turn for turn in frames.bot_turns(record) if turn.seat in awaited]
        return engine.BotTurns(turns)

    async def _announce(self, record: GameRecord) -> None:
        info = record.info
        players = [
            {"seat": seat, "player_id": player, "nickname": nickname, "is_bot": is_bot}
            for seat, (player, nickname, is_bot) in enumerate(
                zip(info.players, info.nicknames, info.bots, strict=True)
            )
        ]
        for seat, player in enumerate(info.players):
            if info.bots[seat]:
                continue
            started = frame(
                "GAME_STARTED",
                game_id=info.game_id,
                room_id=info.room_id,
                sequence=record.sequence,
                commitment=info.commitment,
                game=info.rules.name,
                mode=info.mode,
                players=players,
                your_seat=seat,
            )
            await self._bus.push(USER_PUSH, player, started)
        for turn in frames.bot_turns(record):
            await self._bus.push(engine.BOT_PUSH, turn.player_id, encode(turn))


def _event_view(row: StoredRow, *, is_over: bool) -> engine.EventView:
    private = row.private if is_over else None
    return engine.EventView(
        sequence=row.sequence,
        type=row.type,
        seat=row.seat,
        payload=msgspec.json.decode(row.payload),
        private=None if private is None else msgspec.json.decode(private),
        created_at=from_ms(row.at_ms),
    )
