"""The games watched from here: one subscription each, however many sockets look at it.

A socket is brought to a view first and gets pushes after that. A gap in the pushes is held for a
moment, then closed by fetching views.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from uuid import UUID

import msgspec

from realtime import frames, metrics
from realtime.backend import Backend, unsubscribe
from realtime.background import Background
from realtime.connection import Connection
from realtime.feed import Feed
from realtime.hub import Hub
from realtime.public_state import corrected, is_state
from shared import errors
from shared.bus import Bus
from shared.clock import Clock
from shared.contracts.engine import GAME_PUSH, GET_VIEW, GamePush, GameStatus, GetView, View

VIEW_ATTEMPTS = 5

Absent = Callable[[list[UUID]], Awaitable[set[UUID]]]

_decode_push = msgspec.json.Decoder(GamePush).decode


class Feeds:
    """The feeds of this gateway.

    Args:
        absent: Tells which of the given players are connected nowhere.
        gap_hold_s: How long a push waits for those before it.
    """

    def __init__(
        self,
        *,
        bus: Bus,
        backend: Backend,
        hub: Hub,
        background: Background,
        absent: Absent,
        now: Clock,
        gap_hold_s: float,
    ) -> None:
        self._bus = bus
        self._backend = backend
        self._hub = hub
        self._background = background
        self._absent = absent
        self._clock = now
        self._gap_hold_s = gap_hold_s
        self._loop = asyncio.get_running_loop()
        self._feeds: dict[UUID, Feed] = {}

    def get(self, game_id: UUID) -> Feed | None:
        return self._feeds.get(game_id)

    def all(self) -> list[Feed]:
        return list(self._feeds.values())

    def sequence(self, game_id: UUID) -> int | None:
        """Return the last sequence known of a game; None if it is not watched here."""
        feed = self._feeds.get(game_id)
        return feed.order.sequence if feed is not None else None

    def missing(self, game_id: UUID, connections: Iterable[Connection]) -> list[Connection]:
        """Return those connections that should get the pushes of a game and do not."""
        feed = self._feeds.get(game_id)
        if feed is not None and feed.joining:
            return []  # the next look will show what came of it
        return [connection for connection in connections if game_id not in connection.games]

    # --- joining and looking ---------------------------------------------------------------------

    async def join(self, game_id: UUID, viewer: UUID, connections: Iterable[Connection]) -> View:
        """Bring connections of one player to the present state and keep them there.

        A game that is over is shown, not kept.

        Raises:
            GameNotFound: the engine does not know the game.
            PlayerNotInGame: the game is private and the viewer does not play in it.
            AppError: one of UNKNOWN_OUTCOME.
        """
        wanted = list(connections)
        feed = self._feeds.get(game_id) or self._open(game_id)
        feed.joining += 1
        try:
            await asyncio.shield(feed.ready)
            view = await self._view(feed, viewer)
            self._admit(feed, view, viewer, [c for c in wanted if c.is_open])
        finally:
            feed.joining -= 1
            self._close_if_unused(feed)
        return view

    async def look(self, game_id: UUID, viewer: UUID) -> View:
        """Fetch the present state as one player may see it; raises what ``join`` raises."""
        feed = self._feeds.get(game_id)
        if feed is not None:
            return await self._view(feed, viewer)
        view = await self._backend.ask(GET_VIEW, GetView(game_id, viewer))
        _require_access(view, viewer)
        return view

    async def show(self, connection: Connection, view: View) -> None:
        """Send a view to the connection that asked for it."""
        feed = self._feeds.get(view.game_id)
        if feed is not None:
            feed.show(connection, view)
        else:
            shown = await self.frames_of(view)
            connection.send(frames.all_on_wire(shown), len(shown))

    async def frames_of(self, view: View) -> list[bytes]:
        """Return the frames of a view, corrected by who is connected."""
        away = await self._absent(view.seats)
        seats = [seat for seat, player_id in enumerate(view.seats) if player_id in away]
        shown = [bytes(data) for data in view.frames]
        return [corrected(data, seats) if seats and is_state(data) else data for data in shown]

    def leave(self, game_id: UUID, connection: Connection) -> None:
        """End the membership of one connection."""
        connection.games.discard(game_id)
        feed = self._feeds.get(game_id)
        if feed is not None:
            feed.drop(connection)
            self._close_if_unused(feed)

    def _admit(self, feed: Feed, view: View, viewer: UUID, connections: list[Connection]) -> None:
        is_running = view.status is GameStatus.RUNNING
        if is_running:
            self._enroll(feed, view, viewer, connections)
        for connection in connections:
            feed.show(connection, view)
        if not is_running:
            if feed.members:  # who have not seen the end yet
                self._background.spawn(self.repair(feed))
            return
        if feed.order.sequence is None:
            self._deliver(feed, feed.order.catch_up(view.sequence))
        feed.remember(view)

    def _enroll(self, feed: Feed, view: View, viewer: UUID, connections: list[Connection]) -> None:
        feed.members.update(connections)
        for connection in connections:
            connection.games.add(feed.game_id)
        player = self._hub.players.get(viewer)
        if connections and player is not None and viewer in view.seats:
            player.games.add(feed.game_id)

    async def _view(self, feed: Feed, viewer: UUID) -> View:
        """Fetch a view that is not older than the pushes handed out already."""
        for _ in range(VIEW_ATTEMPTS):
            view = await self._backend.ask(GET_VIEW, GetView(feed.game_id, viewer))
            _require_access(view, viewer)
            if not feed.seats:
                feed.seats = view.seats
                for player_id in await self._absent(view.seats):
                    feed.set_presence(player_id, False)
            if feed.order.sequence is None or view.sequence >= feed.order.sequence:
                return view
        raise errors.Unavailable

    # --- pushes ----------------------------------------------------------------------------------

    def _open(self, game_id: UUID) -> Feed:
        feed = Feed(game_id, self._loop.create_future(), self._clock)
        self._feeds[game_id] = feed
        metrics.FEEDS.set(len(self._feeds))
        self._background.spawn(self._subscribe(feed))
        return feed

    async def _subscribe(self, feed: Feed) -> None:
        def on_push(payload: bytes) -> None:
            self._on_push(feed, _decode_push(payload))

        try:
            feed.subscription = await self._bus.watch_now(GAME_PUSH, feed.game_id, on_push)
        except Exception:
            self._forget(feed)
            feed.ready.set_exception(errors.Unavailable())
            feed.ready.exception()  # it may be that nobody waits for it
            raise
        feed.ready.set_result(None)

    def _on_push(self, feed: Feed, push: GamePush) -> None:
        self._deliver(feed, feed.order.offer(push))
        if feed.order.has_gap and feed.gap_timer is None:
            feed.gap_timer = self._loop.call_later(self._gap_hold_s, self._gap_is_old, feed)

    def _deliver(self, feed: Feed, pushes: list[GamePush]) -> None:
        for push in pushes:
            feed.deliver(push)
            if push.is_over:
                self._finish(feed)

    def _gap_is_old(self, feed: Feed) -> None:
        feed.gap_timer = None
        if feed.order.has_gap and self._feeds.get(feed.game_id) is feed:
            metrics.GAPS.inc()
            self._background.spawn(self.repair(feed))

    async def repair(self, feed: Feed) -> None:
        """Fetch and deliver the present state to every member that has not seen it."""
        if feed.repairing:
            return
        feed.repairing = True
        over_at: int | None = None
        views: list[View] = []
        try:
            for viewer in {feed.viewer_of(connection) for connection in feed.members}:
                view = await self._backend.ask(GET_VIEW, GetView(feed.game_id, viewer))
                if view.status is not GameStatus.RUNNING:
                    over_at = view.sequence
                feed.show_to_members(viewer, view)
                views.append(view)
        finally:
            feed.repairing = False
        if self._feeds.get(feed.game_id) is not feed or not feed.members:
            return
        seen = feed.seen_by_all()
        self._deliver(feed, feed.order.catch_up(seen))
        for view in views:
            feed.remember(view)
        if over_at is not None and seen >= over_at:
            self._finish(feed)

    # --- end -------------------------------------------------------------------------------------

    def _finish(self, feed: Feed) -> None:
        """Let go of a game in which nothing can happen any more."""
        for connection in feed.members:
            connection.session.unwatch(feed.game_id)
            connection.games.discard(feed.game_id)
        feed.members.clear()
        self._forget(feed)

    def _close_if_unused(self, feed: Feed) -> None:
        if not feed.members and not feed.joining:
            self._forget(feed)

    def _forget(self, feed: Feed) -> None:
        if self._feeds.get(feed.game_id) is not feed:
            return
        del self._feeds[feed.game_id]
        metrics.FEEDS.set(len(self._feeds))
        for player_id in feed.seats:
            player = self._hub.players.get(player_id)
            if player is not None:
                player.games.discard(feed.game_id)
        if feed.gap_timer is not None:
            feed.gap_timer.cancel()
        if feed.subscription is not None:
            self._background.spawn(unsubscribe(feed.subscription))


def _require_access(view: View, viewer: UUID) -> None:
    """A private game is for its players (its room is)."""
    if view.is_private and viewer not in view.seats:
        raise errors.PlayerNotInGame
