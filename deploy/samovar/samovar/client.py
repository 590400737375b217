"""A player's client: a socket that comes back, and games as he sees them.

    async with Api(Endpoints.of_edge(url)) as api:
        await api.be_guest("Anna")
        async with PlayerClient(api) as anna:
            await anna.until(lambda: game_id in anna.games, 10)
            await anna.act(game_id, "ATTACK", {"cards": [{"rank": 6, "suit": 1}]})

What was sent and not answered is sent again with the same ``request_id`` on the next connection, so
a service or a network that fails in between is only a pause.
"""

import asyncio
import contextlib
import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias
from urllib.parse import quote
from uuid import uuid4

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from samovar.api import Api, ApiError

_PAUSE_MIN_S = 0.05
_PAUSE_MAX_S = 2.0
_REPLY_WAIT_S = 10.0  # after that an action is sent again on the same connection
# Nobody knows what became of the action, or the gateway asks for patience.
_REPEATABLE = frozenset({"ERR_TIMEOUT", "ERR_UNAVAILABLE", "ERR_INTERNAL", "ERR_RATE_LIMITED"})
_REPLIES = frozenset({"ACTION_ACCEPTED", "ACTION_REJECTED", "ERROR"})

Frame: TypeAlias = dict[str, Any]


class Refused(Exception):
    """An action that changed nothing."""

    def __init__(self, frame: Frame) -> None:
        super().__init__(f"{frame['code']}: {frame.get('message', '')}")
        self.code: str = frame["code"]


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """An action that the platform accepted, and so made durable."""

    request_id: str
    game_id: str
    type: str
    sequence: int


@dataclass(slots=True)
class Game:
    """A game as its player sees it: the newest frame of each kind.

    Attributes:
        sequence: Of the newest GAME_STATE.
        heard: The highest sequence heard of; a jump in the events means that some were missed.
        state_text: GAME_STATE as it came.
        hand_text: YOUR_HAND as it came.
    """

    id: str
    sequence: int = 0
    heard: int = 0
    started: Frame | None = None
    state: Frame | None = None
    state_text: str = ""
    hand: Frame | None = None
    hand_text: str = ""
    finished: Frame | None = None

    def seat_of(self, player_id: str) -> int | None:
        """Return where a player sits; None before the first GAME_STATE."""
        players = self.state["players"] if self.state is not None else []
        return next((p["seat"] for p in players if p["player_id"] == player_id), None)

    def take(self, frame: Frame, text: str) -> bool:
        """Note a frame of this game; False if events before it were missed."""
        sequence = frame.get("sequence", 0)
        match frame["type"]:
            case "GAME_STATE" if sequence >= self.sequence:
                self.state, self.state_text, self.sequence = frame, text, sequence
            case "YOUR_HAND" if self.hand is None or sequence >= self.hand["sequence"]:
                self.hand, self.hand_text = frame, text
            case "GAME_STARTED":
                self.started = frame
            case "GAME_FINISHED":
                self.finished = frame
            case "GAME_EVENT":
                is_gap = self.heard > 0 and sequence > self.heard + 1
                self.heard = max(self.heard, sequence)
                return not is_gap
        self.heard = max(self.heard, sequence)
        return True


@dataclass(frozen=True, slots=True)
class _Pending:
    text: str
    reply: asyncio.Future[Frame]


class PlayerClient:
    """One player over ``/ws``. Use as an async context manager with an API that is signed in.

    Attributes:
        on_frame: Sees every frame after the client has taken it in.
        games: By id, every game that a frame has come of.
        rooms: By id, the newest view of each room.
        balance: The newest BALANCE_UPDATED.
        acknowledged: Every accepted action, in the order of the acknowledgements.
        connections: How many times a socket was opened.
        frames: How many frames have come.
    """

    def __init__(self, api: Api) -> None:
        self.api = api
        self.on_frame: Callable[[Frame], None] | None = None
        self.games: dict[str, Game] = {}
        self.rooms: dict[str, Frame] = {}
        self.balance: Frame | None = None
        self.acknowledged: list[Acknowledged] = []
        self.connections = 0
        self.frames = 0
        self._pending: dict[str, _Pending] = {}
        self._socket: ClientConnection | None = None
        self._trouble: Exception | None = None  # why there is no connection, and none will come
        self._news = asyncio.Condition()
        self._keeper: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._keeper = asyncio.create_task(self._keep_connected(), name="socket")
        try:
            await self.until(lambda: self._socket is not None, 30)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper

    # --- asking ----------------------------------------------------------------------------------

    async def act(
        self,
        game_id: str,
        type_: str,
        payload: Frame | None = None,
        *,
        sequence: int | None = None,
        patience_s: float = 60.0,
    ) -> Acknowledged:
        """Send an action; repeat it until it is acknowledged or refused.

        Args:
            game_id: The game.
            type_: Such as ``ATTACK``.
            payload: The action's content.
            sequence: The last one the player saw; by default that of the newest GAME_STATE.
            patience_s: How long to repeat.

        Raises:
            Refused: the platform's refusal; nothing has changed.
            TimeoutError: no outcome within ``patience_s``.
        """
        if sequence is None:
            sequence = self.games[game_id].sequence
        fields = {"game_id": game_id, "sequence": sequence, "payload": payload or {}}
        request_id, text = _envelope(type_, fields)
        reply = await self._until_known(request_id, text, patience_s)
        if reply["type"] != "ACTION_ACCEPTED":
            raise Refused(reply)
        accepted = Acknowledged(request_id, game_id, type_, reply["sequence"])
        self.acknowledged.append(accepted)
        return accepted

    async def resync(self, game_id: str) -> None:
        """Ask for the present state of a game; the answer comes as frames, or not at all."""
        _, text = _envelope("GET_GAME_STATE", {"game_id": game_id})
        await self._send(text)

    async def until(self, condition: Callable[[], object], timeout_s: float) -> None:
        """Wait until a condition holds; it is looked at after every frame.

        Raises:
            TimeoutError: it did not come true in time.
            ApiError: the player can connect no more (a session that was ended).
        """
        async with asyncio.timeout(timeout_s), self._news:
            await self._news.wait_for(lambda: condition() or self._trouble)
        if self._trouble is not None and not condition():
            raise self._trouble

    async def _until_known(self, request_id: str, text: str, patience_s: float) -> Frame:
        give_up_at = time.monotonic() + patience_s
        pause_s = _PAUSE_MIN_S
        try:
            while True:
                reply: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
                self._pending[request_id] = _Pending(text, reply)
                await self._send(text)
                remaining_s = give_up_at - time.monotonic()
                done, _ = await asyncio.wait([reply], timeout=min(_REPLY_WAIT_S, remaining_s))
                if done and reply.result().get("code") not in _REPEATABLE:
                    return reply.result()
                if self._trouble is not None:
                    raise self._trouble
                if time.monotonic() + pause_s > give_up_at:
                    raise TimeoutError(f"no outcome of an action within {patience_s} s")
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _PAUSE_MAX_S)
        finally:
            self._pending.pop(request_id, None)

    # --- the socket ------------------------------------------------------------------------------

    async def _keep_connected(self) -> None:
        pause_s = _PAUSE_MIN_S
        while True:
            try:
                async with await self._open() as socket:
                    pause_s = _PAUSE_MIN_S
                    await self._read(socket)
            except ApiError as error:
                if error.status < 500:  # the session is over
                    self._trouble = error
                    await self._tell()
                    return
            except (OSError, TimeoutError, WebSocketException, httpx.TransportError):
                pass  # whatever it was, the next connection repairs it
            finally:
                self._socket = None
            await asyncio.sleep(pause_s * random.uniform(0.5, 1))  # noqa: S311  # spreads returns
            pause_s = min(2 * pause_s, _PAUSE_MAX_S)

    async def _open(self) -> connect:
        ticket = await self.api.ticket()
        url = f"{self.api.endpoints.socket}?ticket={quote(ticket)}"
        return connect(url, proxy=None, compression=None, open_timeout=5, close_timeout=2)

    async def _read(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.connections += 1
        for pending in list(self._pending.values()):
            await socket.send(pending.text)
        await self._tell()
        async for text in socket:
            await self._take(text if isinstance(text, str) else text.decode())

    async def _send(self, text: str) -> None:
        if self._socket is not None:
            with contextlib.suppress(WebSocketException):
                await self._socket.send(text)

    async def _take(self, text: str) -> None:
        frame: Frame = json.loads(text)
        self.frames += 1
        if frame["type"] in _REPLIES:
            pending = self._pending.get(frame.get("request_id") or "")
            if pending is not None and not pending.reply.done():
                pending.reply.set_result(frame)
        elif "game_id" in frame:
            game = self.games.setdefault(frame["game_id"], Game(frame["game_id"]))
            if not game.take(frame, text):
                await self.resync(game.id)
        elif frame["type"] == "BALANCE_UPDATED":
            if self.balance is None or frame["balance_version"] > self.balance["balance_version"]:
                self.balance = frame
        elif frame["type"] == "ROOM_UPDATED":
            self.rooms[frame["room"]["room_id"]] = frame["room"]
        if self.on_frame is not None:
            self.on_frame(frame)
        await self._tell()

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()


def _envelope(type_: str, fields: Frame) -> tuple[str, str]:
    """Write a message; return its request id and its text."""
    request_id = str(uuid4())
    frame = {"version": 1, "request_id": request_id, "type": type_, **fields}
    return request_id, json.dumps(frame)
