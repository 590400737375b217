"""Who is connected here: players, their sockets, their sessions, and who watches the lobby."""

import asyncio
from uuid import UUID

import structlog

from realtime import frames, metrics
from realtime.connection import Connection
from realtime.domain.session import Meters
from realtime.limits import PlayerMeters
from realtime.strangers import Strangers
from realtime.wire import INTERNAL
from shared import errors
from shared.bus import Subscription
from shared.contracts.auth import Identity

log = structlog.get_logger()


class Player:
    """A player with at least one socket here.

    Attributes:
        games: Running games he plays in that are watched here for him.
        meters: What he may still do.
        is_watched: The pushes for him are subscribed to, or are being so.
        subscription: To the pushes for him.
    """

    __slots__ = ("connections", "games", "id", "is_watched", "meters", "subscription")

    def __init__(self, player_id: UUID, meters: Meters) -> None:
        self.id = player_id
        self.meters = meters
        self.connections: set[Connection] = set()
        self.games: set[UUID] = set()
        self.is_watched = False
        self.subscription: Subscription | None = None

    def send_frame(self, frame: bytes) -> None:
        """Send one client frame to every socket of the player; encoded once."""
        data = frames.on_wire(frame)
        for connection in self.connections:
            connection.send(data)


class Hub:
    """The registry of this gateway's connections, and their common flush."""

    def __init__(
        self, max_sockets_per_player: int, strangers: Strangers, meters: PlayerMeters
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._max_sockets = max_sockets_per_player
        self._strangers = strangers
        self._meters = meters
        self._dirty: list[Connection] = []
        self._by_session: dict[UUID, set[Connection]] = {}
        self.sockets: set[Connection] = set()  # authenticated or not
        self.players: dict[UUID, Player] = {}
        self.lobby: set[Connection] = set()

    def now(self) -> float:
        """Return the loop's monotonic time in seconds."""
        return self._loop.time()

    def is_connected(self, player_id: UUID) -> bool:
        return player_id in self.players

    def player_of(self, connection: Connection) -> Player | None:
        """Return the player of an open connection."""
        if connection.player_id is None:
            return None
        return self.players.get(connection.player_id)

    def arrive(self, connection: Connection, address: str) -> bool:
        """Register a connection nobody has authenticated yet; False if it is one too many."""
        self.sockets.add(connection)
        return self._strangers.admit(connection, address)

    def add(self, connection: Connection, identity: Identity) -> Player:
        """Register an authenticated connection.

        Raises:
            RateLimited: the player has too many sockets already.
        """
        player = self.players.get(identity.player_id)
        if player is None:
            meters = self._meters.take(identity.player_id, self.now())
            player = self.players[identity.player_id] = Player(identity.player_id, meters)
        elif len(player.connections) >= self._max_sockets:
            raise errors.RateLimited("Too many connections.")
        self._strangers.forget(connection)
        player.connections.add(connection)
        connection.player_id = player.id
        connection.session.meters = player.meters
        self._by_session.setdefault(identity.session_id, set()).add(connection)
        metrics.SOCKETS.inc()
        return player

    def move_session(self, connection: Connection, before: UUID, after: UUID) -> None:
        """Note that a connection lives by another session of its player now."""
        self._drop_session(connection, before)
        self._by_session.setdefault(after, set()).add(connection)

    def remove(self, connection: Connection) -> Player | None:
        """Forget a connection; return its player if that was his last one."""
        self.sockets.discard(connection)
        self.lobby.discard(connection)
        self._strangers.forget(connection)
        player = self.player_of(connection)
        if player is None or connection not in player.connections:
            return None
        metrics.SOCKETS.dec()
        player.connections.discard(connection)
        if connection.session.identity is not None:
            self._drop_session(connection, connection.session.identity.session_id)
        if player.connections:
            return None
        del self.players[player.id]
        self._meters.rest(player.id, player.meters, self.now())
        return player

    def of_session(self, session_id: UUID) -> list[Connection]:
        """Return the connections that live by a session."""
        return list(self._by_session.get(session_id, ()))

    def send_to_lobby(self, frame: bytes) -> None:
        """Send one client frame to everybody who watches the lobby."""
        data = frames.on_wire(frame)
        for connection in self.lobby:
            connection.send(data)

    # --- flush -----------------------------------------------------------------------------------

    def mark(self, connection: Connection) -> None:
        """Flush a connection once the callbacks of this turn of the loop have run."""
        if not self._dirty:
            self._loop.call_soon(self._flush)
        self._dirty.append(connection)

    def _flush(self) -> None:
        dirty, self._dirty = self._dirty, []
        for connection in dirty:
            try:
                connection.flush()
            except Exception:  # one socket's trouble is not another's
                log.exception("flush failed")
                connection.close(INTERNAL, "internal error")

    def _drop_session(self, connection: Connection, session_id: UUID) -> None:
        connections = self._by_session.get(session_id)
        if connections is not None:
            connections.discard(connection)
            if not connections:
                del self._by_session[session_id]
