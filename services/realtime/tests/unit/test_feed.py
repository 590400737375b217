"""What the members of one game are told when somebody comes or goes."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import msgspec

from realtime.connection import Connection
from realtime.feed import Feed
from services.realtime.tests.unit.test_connection import Desk, Socket
from shared.clock import ManualClock
from shared.contracts.engine import GamePush, GameStatus, View
from shared.contracts.realtime import frame

SENT_MS, NOW_MS = 1_000, 5_000


class Table:
    """A game of two players and a spectator, of which only the second player comes and goes."""

    def __init__(self) -> None:
        self.desk = Desk()
        self.seats = [uuid4(), uuid4()]
        self.sockets = [Socket(), Socket()]
        ready = asyncio.get_running_loop().create_future()
        self.feed = Feed(uuid4(), ready, ManualClock(NOW_MS))
        self.feed.seats = self.seats
        self.player = self._join(self.sockets[0], self.seats[0])
        self.spectator = self._join(self.sockets[1], uuid4())
        self.catch_up(3)

    def _join(self, socket: Socket, player_id: UUID) -> Connection:
        connection = self.desk.open(socket, player_id)
        self.feed.members.add(connection)
        return connection

    def catch_up(self, sequence: int) -> None:
        self.feed.order.catch_up(sequence)
        self.feed.remember(self.view(sequence))

    def state(self, sequence: int) -> msgspec.Raw:
        players = [{"seat": seat, "connected": True} for seat in range(2)]
        return msgspec.Raw(
            frame("GAME_STATE", sequence=sequence, players=players, server_now_ms=SENT_MS)
        )

    def view(self, sequence: int) -> View:
        frames = [self.state(sequence)]
        return View(self.feed.game_id, sequence, GameStatus.RUNNING, False, self.seats, frames)

    def push(self, sequence: int, *, has_state: bool = True) -> None:
        public = [self.state(sequence)] if has_state else []
        push = GamePush(sequence - 1, sequence, public, {})
        for ready in self.feed.order.offer(push):
            self.feed.deliver(ready)

    def told(self, who: int) -> list[tuple[str, int]]:
        return [(f["type"], f["sequence"]) for f in self.frames(who)]

    def frames(self, who: int) -> list[dict[str, Any]]:
        """Return what a socket got since the last time."""
        self.desk.flush()
        frames = self.sockets[who].frames()
        self.sockets[who].writes.clear()
        self.sockets[who].taken = 0
        return frames


async def test_who_goes_and_comes_back_is_told_with_the_state_all_have() -> None:
    table = Table()

    table.feed.set_presence(table.seats[1], False)
    assert table.told(0) == table.told(1) == [("GAME_STATE", 3)]
    table.feed.set_presence(table.seats[1], True)

    assert table.told(0) == [("PLAYER_RECONNECTED", 3), ("GAME_STATE", 3)]


async def test_a_state_that_is_sent_again_tells_the_time_of_now() -> None:
    table = Table()

    for is_connected in (False, True):
        table.feed.set_presence(table.seats[1], is_connected)
        state = table.frames(0)[-1]

        assert state["server_now_ms"] == NOW_MS
        assert [player["connected"] for player in state["players"]] == [True, is_connected]


async def test_a_view_that_one_member_has_seen_is_not_shown_to_all() -> None:
    table = Table()
    table.feed.show(table.player, table.view(4))
    table.frames(0)

    table.feed.set_presence(table.seats[1], False)

    assert table.told(1) == [("GAME_STATE", 3)]
    assert table.told(0) == []


async def test_no_state_is_sent_that_is_older_than_the_pushes_since() -> None:
    table = Table()
    table.push(4, has_state=False)

    table.feed.set_presence(table.seats[1], False)
    assert table.told(0) == []
    table.feed.set_presence(table.seats[1], True)
    assert table.told(0) == [("PLAYER_RECONNECTED", 4)]
    table.push(5)
    table.feed.set_presence(table.seats[1], False)

    assert table.told(0) == [("GAME_STATE", 5), ("GAME_STATE", 5)]


async def test_after_a_repair_the_state_of_the_repair_is_sent() -> None:
    table = Table()
    table.feed.show_to_members(None, table.view(7))
    table.feed.show_to_members(table.seats[0], table.view(7))
    table.catch_up(7)
    table.frames(0)
    table.frames(1)

    table.feed.set_presence(table.seats[1], False)

    assert table.told(0) == table.told(1) == [("GAME_STATE", 7)]
