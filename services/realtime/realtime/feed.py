"""One watched game on this gateway: its order, its members, and what each of them has seen."""

import asyncio
from collections.abc import Iterable
from uuid import UUID

import msgspec

from realtime import frames
from realtime.connection import Connection
from realtime.domain.order import Order
from realtime.public_state import corrected, is_state
from shared.bus import Subscription
from shared.clock import Clock
from shared.contracts.engine import GamePush, View
from shared.contracts.realtime import frame

NOTHING_SEEN = -1


class Feed:
    """One watched game.

    Every member has seen everything up to ``order.sequence``: he was shown a view that was not
    older, and got every push since.

    Attributes:
        ready: Done once the subscription stands.
        joining: Joins under way; the feed stays while there are some.
        repairing: A repair is under way.
        seats: Player ids in seat order; empty before the first view.
        away: Players of the game who are connected nowhere.
    """

    __slots__ = (
        "_ahead",
        "_clock",
        "_state",
        "_state_at",
        "away",
        "game_id",
        "gap_timer",
        "joining",
        "members",
        "order",
        "ready",
        "repairing",
        "seats",
        "subscription",
    )  # fmt: skip

    def __init__(self, game_id: UUID, ready: asyncio.Future[None], now: Clock) -> None:
        self._clock = now
        self.game_id = game_id
        self.ready = ready
        self.order: Order[GamePush] = Order()
        self.members: set[Connection] = set()
        self.seats: list[UUID] = []
        self.away: set[UUID] = set()
        self.joining = 0
        self.repairing = False
        self.subscription: Subscription | None = None
        self.gap_timer: asyncio.TimerHandle | None = None
        # Members that were shown a view newer than the pushes so far, and its sequence.
        self._ahead: dict[Connection, int] = {}
        # The last GAME_STATE all members have been given, and its sequence.
        self._state: msgspec.Raw | None = None
        self._state_at = NOTHING_SEEN

    def deliver(self, push: GamePush) -> None:
        """Write a push to every member; never waits."""
        public = self._public(push.public, push.to_sequence)
        data = frames.all_on_wire(public)
        count = len(public)
        for connection in self.members:
            if self._ahead and not self._is_news(connection, push):
                continue
            connection.send(data, count)
            if push.private and connection.player_id is not None:
                own = push.private.get(connection.player_id)
                if own:
                    connection.send(frames.all_on_wire(map(bytes, own)), len(own))

    def show(self, connection: Connection, view: View) -> None:
        """Write a view to one connection; if it is a member, remember what it has seen."""
        if connection in self.members and view.sequence < self.seen(connection):
            return  # overtaken by another view
        shown = self._public(view.frames)
        connection.send(frames.all_on_wire(shown), len(shown))
        if connection in self.members and view.sequence > self.seen(connection):
            self._ahead[connection] = view.sequence

    def show_to_members(self, viewer: UUID | None, view: View) -> None:
        """Write a view to those members whose view it is and who have not seen it."""
        for connection in self.members:
            if self.viewer_of(connection) == viewer and self.seen(connection) < view.sequence:
                self.show(connection, view)

    def seen(self, connection: Connection) -> int:
        """Return the last sequence a member has been given."""
        known = NOTHING_SEEN if self.order.sequence is None else self.order.sequence
        return max(self._ahead.get(connection, NOTHING_SEEN), known)

    def seen_by_all(self) -> int:
        """Return the last sequence that every member has been given."""
        return min(map(self.seen, self.members), default=NOTHING_SEEN)

    def viewer_of(self, connection: Connection) -> UUID | None:
        """Return whose view a member gets; None is the public one."""
        return connection.player_id if connection.player_id in self.seats else None

    def remember(self, view: View) -> None:
        """Note the state of a view if it is the one all members have been given."""
        if view.sequence == self.order.sequence:
            for part in view.frames:
                if is_state(bytes(part)):
                    self._state, self._state_at = part, view.sequence

    def drop(self, connection: Connection) -> None:
        """Forget a member; one that is none changes nothing."""
        self.members.discard(connection)
        self._ahead.pop(connection, None)

    def set_presence(self, player_id: UUID, is_connected: bool) -> None:
        """Note that a player of the game came or went; tell the others if that is news."""
        if player_id not in self.seats or is_connected == (player_id not in self.away):
            return
        news: list[bytes] = []
        known = self.order.sequence
        if is_connected:
            self.away.discard(player_id)
            news.append(
                frame(
                    "PLAYER_RECONNECTED",
                    game_id=self.game_id,
                    sequence=known,
                    seat=self.seats.index(player_id),
                    player_id=player_id,
                )
            )
        else:
            self.away.add(player_id)
        if self._state is not None and self._state_at == known:
            state = bytes(self._state)
            news.append(corrected(state, self._away_seats(), self._clock.now_ms()))
        if not news:
            return
        data = frames.all_on_wire(news)
        for connection in self.members:
            # Who is ahead is told by the next state; this one would be a step back.
            if connection.player_id != player_id and self.seen(connection) == known:
                connection.send(data, len(news))

    def _public(self, raw: Iterable[msgspec.Raw], pushed_at: int | None = None) -> list[bytes]:
        """Return frames as bytes, the state corrected by who is away: the engine cannot know.

        ``pushed_at``: the sequence of frames that go to all members.
        """
        result: list[bytes] = []
        for part in raw:
            data = bytes(part)
            if is_state(data):
                if pushed_at is not None:
                    self._state, self._state_at = part, pushed_at
                if self.away:
                    data = corrected(data, self._away_seats())
            result.append(data)
        return result

    def _away_seats(self) -> set[int]:
        return {seat for seat, player_id in enumerate(self.seats) if player_id in self.away}

    def _is_news(self, connection: Connection, push: GamePush) -> bool:
        seen = self._ahead.get(connection)
        if seen is None:
            return True
        if seen <= push.to_sequence:
            del self._ahead[connection]
        # A push that raises no sequence may tell what a view of the same sequence did not.
        return seen < push.to_sequence or seen == push.from_sequence
