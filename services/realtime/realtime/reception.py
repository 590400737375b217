"""How a connection comes in and goes: credentials, registration, its running games, its end."""

from uuid import UUID

from realtime import frames
from realtime.backend import Backend, unsubscribe
from realtime.background import Background
from realtime.connection import Connection
from realtime.feeds import Feeds
from realtime.gatekeeper import Gatekeeper
from realtime.hub import Hub, Player
from realtime.presence import Presence
from realtime.pushes import Pushes
from realtime.settings import Settings
from realtime.wire import (
    FLOOD,
    INTERNAL,
    RESTART,
    UNAUTHENTICATED,
    Credentials,
    Ticket,
    Token,
)
from shared import clock, errors
from shared.contracts.auth import Identity
from shared.contracts.engine import LIST_GAMES, ListGames


class Reception:
    """Lets connections in and sees them off."""

    def __init__(
        self,
        *,
        settings: Settings,
        gatekeeper: Gatekeeper,
        hub: Hub,
        feeds: Feeds,
        pushes: Pushes,
        presence: Presence,
        backend: Backend,
        background: Background,
        now: clock.Clock,
    ) -> None:
        self._settings = settings
        self._gatekeeper = gatekeeper
        self._hub = hub
        self._feeds = feeds
        self._pushes = pushes
        self._presence = presence
        self._backend = backend
        self._background = background
        self._clock = now

    def authenticate(
        self, connection: Connection, credentials: Credentials, request_id: UUID | None
    ) -> None:
        """Check credentials in the background; then let the connection in, or close it."""
        self._background.spawn(self._authenticate(connection, credentials, request_id))

    def leave(self, connection: Connection) -> None:
        """Forget a connection that is gone."""
        last = self._hub.remove(connection)
        if last is not None:
            if last.subscription is not None:
                self._background.spawn(unsubscribe(last.subscription))
            self._presence.changed(last.id, last.games)
        for game_id in list(connection.games):
            self._feeds.leave(game_id, connection)

    async def _authenticate(
        self, connection: Connection, credentials: Credentials, request_id: UUID | None
    ) -> None:
        try:
            player = await self._check(connection, credentials, request_id)
        except Exception:
            connection.send_frame(frames.failed(request_id, errors.Internal()))
            if not connection.is_open:
                connection.close(INTERNAL, "internal error")
            raise
        if player is not None:
            await self._bring(player, connection)

    async def _check(
        self, connection: Connection, credentials: Credentials, request_id: UUID | None
    ) -> Player | None:
        """Let a connection in or turn it away; return the player of one that has come in."""
        try:
            identity = await self._identify(credentials)
        except errors.AppError as error:
            self._turn_away(connection, error, request_id)
            return None
        if connection.is_open:
            self._renew(connection, identity, request_id)
            return None
        return self._let_in(connection, identity, credentials, request_id)

    async def _identify(self, credentials: Credentials) -> Identity:
        if isinstance(credentials, Ticket):
            return await self._gatekeeper.by_ticket(credentials.value)
        return await self._gatekeeper.by_token(credentials.value)

    def _turn_away(
        self, connection: Connection, error: errors.AppError, request_id: UUID | None
    ) -> None:
        connection.send_frame(frames.failed(request_id, error))
        if connection.is_open:
            return  # it lives on by the token it has
        if isinstance(error, errors.UNKNOWN_OUTCOME):
            connection.close(RESTART, "not available")
        else:
            connection.close(UNAUTHENTICATED, error.code)

    def _let_in(
        self,
        connection: Connection,
        identity: Identity,
        credentials: Credentials,
        request_id: UUID | None,
    ) -> Player | None:
        if connection not in self._hub.sockets:
            return None  # gone meanwhile
        try:
            self._gatekeeper.require_live(identity)
            connection.session.authenticate(identity)
            player = self._hub.add(connection, identity)
        except errors.RateLimited as error:
            connection.send_frame(frames.failed(request_id, error))
            connection.close(FLOOD, "too many connections")
            return None
        except errors.AppError as error:
            self._turn_away(connection, error, request_id)
            return None
        if isinstance(credentials, Token) and credentials.by_frame:
            connection.send_frame(_welcome(identity, request_id))
        self._set_expiry(connection)
        connection.opened()
        return player

    def _renew(self, connection: Connection, identity: Identity, request_id: UUID | None) -> None:
        before = connection.session.identity
        try:
            self._gatekeeper.require_live(identity)
            connection.session.authenticate(identity)
        except errors.AppError as error:
            connection.send_frame(frames.failed(request_id, error))
            return
        if before is not None:
            self._hub.move_session(connection, before.session_id, identity.session_id)
        connection.send_frame(_welcome(identity, request_id))
        self._set_expiry(connection)

    async def _bring(self, player: Player, connection: Connection) -> None:
        """Show the running games of a player to a connection of his (spec §12)."""
        await self._pushes.watch_player(player)
        try:
            running = await self._backend.ask(LIST_GAMES, ListGames(player_id=player.id))
            for game_id in running.game_ids:
                await self._feeds.join(game_id, player.id, [connection])
        finally:
            self._presence.changed(player.id, player.games)

    # --- expiry ----------------------------------------------------------------------------------

    def _set_expiry(self, connection: Connection) -> None:
        left_s = self._seconds_left(connection)
        notice_s = left_s - self._settings.expiry_notice_s
        if notice_s > 0:
            connection.set_timer(notice_s, lambda: self._warn(connection))
        else:
            self._warn(connection)

    def _warn(self, connection: Connection) -> None:
        identity = connection.session.identity
        if identity is not None:
            text = "Send AUTH with a fresh token."
            expires_at_ms = clock.to_ms(identity.expires_at)
            connection.send_frame(frames.notice("TOKEN_EXPIRES", text, expires_at_ms=expires_at_ms))
        connection.set_timer(self._seconds_left(connection), lambda: self._expire(connection))

    def _seconds_left(self, connection: Connection) -> float:
        return connection.session.seconds_left(clock.from_ms(self._clock.now_ms()))

    def _expire(self, connection: Connection) -> None:
        connection.send_frame(frames.failed(None, errors.TokenExpired()))
        connection.close(UNAUTHENTICATED, "token expired")


def _welcome(identity: Identity, request_id: UUID | None) -> bytes:
    return frames.done(
        request_id,
        player_id=identity.player_id,
        expires_at_ms=clock.to_ms(identity.expires_at),
    )
