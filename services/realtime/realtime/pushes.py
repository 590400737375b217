"""Pushes from other services to the sockets of this gateway (games: ``feeds.py``)."""

from uuid import UUID

import msgspec

from realtime.backend import unsubscribe
from realtime.background import Background
from realtime.feeds import Feeds
from realtime.frames import failed
from realtime.gatekeeper import Gatekeeper
from realtime.hub import Hub, Player
from realtime.wire import UNAUTHENTICATED
from shared import errors
from shared.bus import Bus
from shared.contracts.auth import SESSION_PUSH
from shared.contracts.lobby import LOBBY_PUSH
from shared.contracts.realtime import PRESENCE_PUSH, USER_PUSH, PresenceChanged

_STARTED = b'"GAME_STARTED"'
_MARK_WITHIN = 64  # frames begin with their type


class _Started(msgspec.Struct):
    type: str
    game_id: UUID


class Pushes:
    """The subscriptions of this gateway that are not about one game."""

    def __init__(
        self, bus: Bus, hub: Hub, feeds: Feeds, gatekeeper: Gatekeeper, background: Background
    ) -> None:
        self._bus = bus
        self._hub = hub
        self._feeds = feeds
        self._gatekeeper = gatekeeper
        self._background = background

    async def start(self) -> None:
        """Subscribe to what concerns everybody."""
        await self._bus.watch(LOBBY_PUSH, None, self._on_lobby)
        await self._bus.watch(SESSION_PUSH, None, self._on_session)
        await self._bus.watch(PRESENCE_PUSH, None, self._on_presence)

    async def watch_player(self, player: Player) -> None:
        """Subscribe to the pushes for one player, once."""
        if player.is_watched:
            return

        async def on_push(_key: str, payload: bytes) -> None:
            player.send_frame(payload)
            if _STARTED in payload[:_MARK_WITHIN]:
                started = msgspec.json.decode(payload, type=_Started)
                self._background.spawn(
                    self._feeds.join(started.game_id, player.id, player.connections)
                )

        player.is_watched = True
        try:
            player.subscription = await self._bus.watch(USER_PUSH, player.id, on_push)
        except BaseException:
            player.is_watched = False
            raise
        if not player.connections:  # gone meanwhile
            await unsubscribe(player.subscription)

    def end_sessions(self, session_ids: tuple[UUID, ...]) -> None:
        """Close every socket that lives by one of these sessions."""
        for session_id in session_ids:
            for connection in self._hub.of_session(session_id):
                connection.send_frame(failed(None, errors.SessionRevoked()))
                connection.close(UNAUTHENTICATED, "session revoked")

    async def _on_lobby(self, _key: str, payload: bytes) -> None:
        self._hub.send_to_lobby(payload)

    async def _on_session(self, key: str, _payload: bytes) -> None:
        session_id = UUID(key)
        self._gatekeeper.revoke(session_id)
        self.end_sessions((session_id,))

    async def _on_presence(self, key: str, payload: bytes) -> None:
        feed = self._feeds.get(UUID(key))
        if feed is None:
            return
        news = msgspec.json.decode(payload, type=PresenceChanged)
        # What this gateway sees itself goes before what another one said a moment ago.
        is_connected = news.is_connected or self._hub.is_connected(news.player_id)
        feed.set_presence(news.player_id, is_connected)
