"""The load generator: a process of its own that plays many two-player games over ``/ws``.

Reads its plan as one JSON line from standard input; writes one JSON line when the measured time
begins, one when it ends, and the figures. Only accepted actions count. A table has one action in
flight; with ``rate`` set, actions start at that pace over all tables instead of at once.
"""

import asyncio
import gc
import random
import sys
import time
from collections import Counter, deque
from typing import Any

import msgspec
import picows
import uvloop
from typing_extensions import override

from samovar.bench.strategy import Card, Hand, State, choose, mover

WARM_UP_S = 3.0
CONNECT_S = 120.0  # for all players to be told all their games
HAND_WAIT_S = 0.05


class Plan(msgspec.Struct):
    """What to play. ``tables``: per table two access tokens and its games, one after another."""

    url: str
    tables: list["TablePlan"]
    seconds: float
    rate: float | None


class TablePlan(msgspec.Struct):
    tokens: list[str]
    game_ids: list[str]


_state = msgspec.json.Decoder(State)
_hand = msgspec.json.Decoder(Hand)


class Meter:
    """Counts accepted actions and their latency inside the measured window."""

    def __init__(self) -> None:
        self.is_open = False
        self.latencies: list[float] = []
        self.refused: Counter[str] = Counter()

    def accepted(self, latency_s: float) -> None:
        if self.is_open:
            self.latencies.append(latency_s)

    def rejected(self, payload: bytes) -> None:
        if self.is_open:
            self.refused[str(msgspec.json.decode(payload).get("code"))] += 1


class Pacer:
    """Starts actions at a fixed rate; without a rate, at once."""

    def __init__(self, rate: float | None) -> None:
        self._rate = rate
        self._ready: deque[Table] = deque()
        self._due = 0.0

    def offer(self, table: "Table") -> None:
        if self._rate is None:
            table.act()
        else:
            self._ready.append(table)

    async def run(self, stop: asyncio.Event) -> None:
        if self._rate is None:
            await stop.wait()
            return
        self._due = time.perf_counter()
        while not stop.is_set():
            now = time.perf_counter()
            while self._due <= now:
                self._due += 1 / self._rate
                if self._ready:
                    self._ready.popleft().act()
            await asyncio.sleep(0.001)


class Table:
    """Two seats and the games they play one after another."""

    def __init__(self, plan: TablePlan, meter: Meter, pacer: Pacer) -> None:
        self._games = deque(plan.game_ids)
        self._meter = meter
        self._pacer = pacer
        self._prefix = random.getrandbits(64)  # only has to be unique
        self._count = 0
        self._known: dict[str, State] = {}
        self._hands: dict[tuple[str, int], list[Card]] = {}
        self._sent_at: float | None = None
        self._waiting = False
        self._acted_sequence = -1
        self.sockets: list[picows.WSTransport] = []
        self.game: str | None = None

    @property
    def is_informed(self) -> bool:
        """Both players have been told every game of the plan."""
        return len(self._known) == len(self._games) and len(self._hands) == 2 * len(self._games)

    def begin(self) -> None:
        """Go on to the next game of the plan."""
        self.game = self._games.popleft() if self._games else None
        self._acted_sequence = -1
        if self.game is not None:
            self.consider()

    def on_frame(self, seat: int, payload: bytes) -> None:
        """Take one server frame that came on a seat's socket."""
        if payload.startswith(b'{"type":"ACTION_ACCEPTED"'):
            self._answered()
        elif payload.startswith(b'{"type":"YOUR_HAND"'):
            hand = _hand.decode(payload)
            self._hands[hand.game_id, seat] = hand.cards
            self.consider()
        elif seat == 0 and payload.startswith(b'{"type":"GAME_STATE"'):
            state = _state.decode(payload)
            known = self._known.get(state.game_id)
            if known is None or known.sequence < state.sequence:
                self._known[state.game_id] = state
                self.consider()
        elif payload.startswith((b'{"type":"ACTION_REJECTED"', b'{"type":"ERROR"')):
            self._meter.rejected(payload)
            self._sent_at = None
            self._waiting = False
            self._acted_sequence = -1
            asyncio.get_running_loop().call_later(HAND_WAIT_S, self.consider)

    def _answered(self) -> None:
        if self._sent_at is not None:
            self._meter.accepted(time.perf_counter() - self._sent_at)
            self._sent_at = None
            self.consider()

    def consider(self) -> None:
        """Act if nothing is in flight and both the state and the mover's hand are known."""
        if self._sent_at is not None or self._waiting or self.game is None:
            return
        state = self._known.get(self.game)
        if state is None or state.sequence == self._acted_sequence:
            return
        seat = mover(state)
        if seat is None:
            self._known.pop(self.game)
            self.begin()
        elif len(self._hands.get((self.game, seat), ())) == state.players[seat].card_count:
            self._waiting = True
            self._pacer.offer(self)

    def act(self) -> None:
        """Send the mover's action."""
        self._waiting = False
        if self.game is None:
            return
        state = self._known[self.game]
        seat = mover(state)
        if seat is None:
            return
        self._count += 1
        self._sent_at = time.perf_counter()
        frame = (
            b'{"version":1,"request_id":"%08x-%04x-4000-8000-%012x","game_id":"%s",'
            b'"sequence":%d,%s}'
            % (
                self._prefix >> 32, self._prefix & 0xFFFF, self._count, self.game.encode(),
                state.sequence, choose(state, self._hands[self.game, seat]),
            )
        )  # fmt: skip
        self._acted_sequence = state.sequence
        self.sockets[seat].send(picows.WSMsgType.TEXT, frame)


class Socket(picows.WSListener):
    """One player's connection."""

    def __init__(self, table: Table, seat: int) -> None:
        self._table = table
        self._seat = seat

    @override
    def on_ws_frame(self, transport: Any, frame: Any) -> None:
        if frame.msg_type == picows.WSMsgType.TEXT:
            self._table.on_frame(self._seat, frame.get_payload_as_bytes())
        elif frame.msg_type == picows.WSMsgType.CLOSE:
            print(f"closed: {frame.get_close_code()}", file=sys.stderr)
            transport.disconnect()


async def play(plan: Plan) -> dict[str, Any]:
    """Connect everybody, play, return the figures."""
    meter, pacer = Meter(), Pacer(plan.rate)
    tables = [Table(table, meter, pacer) for table in plan.tables]
    for table, table_plan in zip(tables, plan.tables, strict=True):
        for seat, token in enumerate(table_plan.tokens):
            table.sockets.append(await _connect(plan.url, token, Socket(table, seat)))
    async with asyncio.timeout(CONNECT_S):
        while not all(table.is_informed for table in tables):  # noqa: ASYNC110  # once, bounded
            await asyncio.sleep(0.1)
    stop = asyncio.Event()
    pacing = asyncio.create_task(pacer.run(stop))
    for table in tables:
        table.begin()
    gc.collect()
    gc.freeze()
    await asyncio.sleep(WARM_UP_S)
    _say({"event": "begin"})
    meter.is_open = True
    started, cpu = time.perf_counter(), time.process_time()
    await asyncio.sleep(plan.seconds)
    meter.is_open = False
    elapsed_s, cpu_s = time.perf_counter() - started, time.process_time() - cpu
    _say({"event": "end"})
    stop.set()
    await pacing
    for table in tables:
        for socket in table.sockets:
            socket.disconnect()
    latencies = sorted(meter.latencies)
    return {
        "event": "figures",
        "moves": len(latencies),
        "seconds": elapsed_s,
        "cpu_s": cpu_s,
        "p50_ms": _quantile(latencies, 0.50) * 1000,
        "p99_ms": _quantile(latencies, 0.99) * 1000,
        "refused": dict(meter.refused),
        "idle_tables": sum(table.game is None for table in tables),
    }


async def _connect(url: str, token: str, socket: Socket) -> picows.WSTransport:
    headers = {"Authorization": f"Bearer {token}"}
    transport, _ = await picows.ws_connect(lambda *_: socket, url, extra_headers=headers)
    return transport


def _quantile(ordered: list[float], q: float) -> float:
    return ordered[min(int(len(ordered) * q), len(ordered) - 1)] if ordered else float("nan")


def _say(message: dict[str, Any]) -> None:
    print(msgspec.json.encode(message).decode(), flush=True)


def main() -> None:
    plan = msgspec.json.decode(sys.stdin.readline(), type=Plan)
    _say(uvloop.run(play(plan)))


if __name__ == "__main__":
    main()
