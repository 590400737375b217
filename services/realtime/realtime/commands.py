"""What a client's message does: one entry for each type, the same for every wire."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import msgspec

from realtime import frames
from realtime.backend import Moves
from realtime.background import Background
from realtime.connection import Connection
from realtime.domain import envelope
from realtime.domain.session import Verdict
from realtime.feeds import Feeds
from realtime.hub import Hub
from shared import errors
from shared.clock import Clock
from shared.contracts.engine import ActRequest, GameStatus
from shared.contracts.realtime import ClientFrame, frame

MAX_RUNNING = 8  # commands of one connection that wait for another service, moves aside


class Commands:
    """Carries out messages that are well formed, of connections that are authenticated."""

    def __init__(
        self, hub: Hub, feeds: Feeds, moves: Moves, background: Background, clock: Clock
    ) -> None:
        self._hub = hub
        self._feeds = feeds
        self._moves = moves
        self._background = background
        self._clock = clock
        self._at_once: dict[str, Callable[[Connection, ClientFrame], None]] = {
            "PING": self._ping,
            "WATCH_LOBBY": self._watch_lobby,
            "UNWATCH_LOBBY": self._unwatch_lobby,
            "UNWATCH_GAME": self._unwatch_game,
        }
        self._waiting: dict[str, Callable[[Connection, ClientFrame], Awaitable[None]]] = {
            "WATCH_GAME": self._watch_game,
            "GET_GAME_STATE": self._get_game_state,
        }

    def dispatch(self, connection: Connection, message: ClientFrame) -> None:
        """Carry out one message; what has to wait goes on in the background."""
        if message.type in envelope.GAME_ACTIONS:
            self._act(connection, message)
        elif message.type in self._at_once:
            self._at_once[message.type](connection, message)
        elif connection.running >= MAX_RUNNING:
            connection.send_frame(frames.failed(message.request_id, errors.RateLimited()))
        else:
            connection.running += 1
            self._background.spawn(self._wait(connection, message))

    # --- moves -----------------------------------------------------------------------------------

    def _act(self, connection: Connection, message: ClientFrame) -> None:
        request = act_request(_player_of(connection), message)
        request_id, game_id = request.request_id, request.game_id

        def on_acted(outcome: int | errors.AppError) -> None:
            if not isinstance(outcome, errors.AppError):
                connection.send_frame(frames.accepted(request_id, game_id, outcome))
            elif isinstance(outcome, errors.UNKNOWN_OUTCOME):
                connection.send_frame(frames.failed(request_id, outcome))
            else:
                known = self._feeds.sequence(game_id)
                connection.send_frame(frames.rejected(request_id, game_id, outcome, known))

        self._moves.act(request, on_acted)

    # --- at once ---------------------------------------------------------------------------------

    def _ping(self, connection: Connection, message: ClientFrame) -> None:
        player = self._hub.player_of(connection)
        games = player.games if player is not None else ()
        connection.send_frame(
            frame(
                "PONG",
                request_id=message.request_id,
                sequences={game_id: self._feeds.sequence(game_id) for game_id in games},
                server_now_ms=self._clock.now_ms(),
            )
        )

    def _watch_lobby(self, connection: Connection, message: ClientFrame) -> None:
        self._hub.lobby.add(connection)
        connection.send_frame(frames.done(message.request_id))

    def _unwatch_lobby(self, connection: Connection, message: ClientFrame) -> None:
        self._hub.lobby.discard(connection)
        connection.send_frame(frames.done(message.request_id))

    def _unwatch_game(self, connection: Connection, message: ClientFrame) -> None:
        game_id = _game_of(message)
        connection.session.unwatch(game_id)
        player = self._hub.player_of(connection)
        if player is None or game_id not in player.games:  # nobody turns away from his own game
            self._feeds.leave(game_id, connection)
        connection.send_frame(frames.done(message.request_id, game_id=game_id))

    # --- with a wait -----------------------------------------------------------------------------

    async def _wait(self, connection: Connection, message: ClientFrame) -> None:
        try:
            await self._waiting[message.type](connection, message)
        except errors.UNKNOWN_OUTCOME as error:
            connection.send_frame(frames.failed(message.request_id, error))
        except errors.AppError as error:
            connection.send_frame(frames.rejected(message.request_id, message.game_id, error, None))
        finally:
            connection.running -= 1

    async def _watch_game(self, connection: Connection, message: ClientFrame) -> None:
        game_id, player_id = _game_of(message), _player_of(connection)
        session = connection.session
        if game_id in connection.games:
            self._finish_watch(connection, message, self._feeds.sequence(game_id))
            return
        mark = session.watch(game_id)
        try:
            view = await self._feeds.join(game_id, player_id, [connection])
        except errors.AppError:
            session.give_up(game_id, mark)
            raise
        if view.status is not GameStatus.RUNNING or player_id in view.seats:
            session.give_up(game_id, mark)
        elif game_id not in session.watched:  # he thought better of it meanwhile
            self._feeds.leave(game_id, connection)
        self._finish_watch(connection, message, view.sequence)

    def _finish_watch(
        self, connection: Connection, message: ClientFrame, sequence: int | None
    ) -> None:
        connection.send_frame(
            frames.done(message.request_id, game_id=message.game_id, sequence=sequence)
        )

    async def _get_game_state(self, connection: Connection, message: ClientFrame) -> None:
        verdict = connection.session.judge_state_request(self._hub.now())
        if verdict is not Verdict.PASS:
            connection.limited(message.request_id, verdict)
            return
        game_id, player_id = _game_of(message), _player_of(connection)
        view = await self._feeds.look(game_id, player_id)
        if player_id not in view.seats and game_id not in connection.session.watched:
            raise errors.PlayerNotInGame
        await self._feeds.show(connection, view)
        connection.send_frame(
            frames.done(message.request_id, game_id=game_id, sequence=view.sequence)
        )


def act_request(player_id: UUID, message: ClientFrame) -> ActRequest:
    """Make the engine's command of a message; identity is the session's, never the message's."""
    if message.game_id is None or message.request_id is None:
        raise errors.InvalidRequest
    return ActRequest(
        game_id=message.game_id,
        player_id=player_id,
        request_id=message.request_id,
        sequence=message.sequence,
        type=message.type,
        payload=msgspec.Raw(envelope.payload_of(message)),
    )


def _game_of(message: ClientFrame) -> UUID:
    if message.game_id is None:  # the envelope has checked it
        raise errors.InvalidRequest
    return message.game_id


def _player_of(connection: Connection) -> UUID:
    if connection.player_id is None:
        raise errors.Unauthorized
    return connection.player_id
