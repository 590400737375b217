"""The player's client against a small gateway with the real rules, whose faults tests command."""

import asyncio
import contextlib
import json
from uuid import uuid4

import msgspec
import pytest
import uvicorn
from fastapi import FastAPI, Request, WebSocket, WebSocketDisconnect
from fastapi.responses import JSONResponse

from games.durak.game import DURAK
from games.durak.state import DurakOptions
from samovar.api import Api, ApiError, Endpoints
from samovar.client import PlayerClient, Refused
from samovar.playing import moves_of, play
from samovar.story import Story
from shared.errors import AppError, StaleState

GAME_ID = str(uuid4())


class Gateway:
    """One two-player game behind the sign-up of guests, tickets and ``/ws``.

    Attributes:
        players: Ids in seat order.
        requests: Every action that arrived: (request id, text).
        accepted: Sequence by the request id of each accepted action.
        lose_replies: How many of the next replies end the connection instead of being sent.
        fail_with: Codes of the ERROR frames that the next actions get instead of an answer.
        lose_pushes: How many of the next pushes reach nobody.
        refusals: HTTP answers of the next ticket requests.
    """

    def __init__(self):
        self.players = []
        self.sockets = {}
        self.requests = []
        self.accepted = {}
        self.lose_replies = 0
        self.fail_with = []
        self.lose_pushes = 0
        self.refusals = []
        self.state, _ = DURAK.setup(2, DurakOptions(), bytes(32), 0)
        self.last_move = self.state.event_count
        self.app = FastAPI()
        self.app.post("/v1/auth/guest")(self.open_guest)
        self.app.post("/v1/ws/ticket")(self.issue_ticket)
        self.app.websocket("/ws")(self.serve)

    async def open_guest(self, request: Request):
        player_id = str(uuid4())
        self.players.append(player_id)
        body = await request.json()
        return {
            "player": {"player_id": player_id, "nickname": body["nickname"]},
            "access_token": player_id,
            "refresh_token": "r",
        }

    async def issue_ticket(self, request: Request):
        if self.refusals:
            status, code = self.refusals.pop(0)
            return JSONResponse({"code": code, "title": code}, status)
        return {"ticket": request.headers["authorization"].removeprefix("Bearer ")}

    async def serve(self, socket: WebSocket):
        player_id = socket.query_params["ticket"]
        seat = self.players.index(player_id)
        await socket.accept()
        self.sockets[seat] = socket
        await self.show(seat)
        with contextlib.suppress(WebSocketDisconnect):
            while True:
                text = await socket.receive_text()
                if not await self.answer(seat, json.loads(text), text):
                    await socket.close(1012)
                    return

    async def answer(self, seat, frame, text):
        if frame["type"] == "GET_GAME_STATE":
            await self.show(seat)
            return True
        request_id = frame["request_id"]
        self.requests.append((request_id, text))
        reply = {"type": "ACTION_ACCEPTED", "request_id": request_id, "game_id": GAME_ID}
        events = []
        try:
            if self.fail_with:
                reply |= {"type": "ERROR", "code": self.fail_with.pop(0)}
            else:
                events = self.judge(seat, frame)
                reply["sequence"] = self.accepted[request_id]
        except AppError as error:
            reply |= {"type": "ACTION_REJECTED", "code": error.code}
        if reply["type"] == "ACTION_ACCEPTED" and self.lose_replies:
            self.lose_replies -= 1
            return False
        await self.sockets[seat].send_text(json.dumps(reply))
        if events:
            await self.push(events)
        return True

    def judge(self, seat, frame):
        if frame["request_id"] in self.accepted:
            return []
        if not self.last_move <= frame["sequence"] <= self.state.event_count:
            raise StaleState
        payload = json.dumps(frame["payload"]).encode()
        first = self.state.event_count + 1
        self.state, events = DURAK.apply(
            self.state, seat, DURAK.decode_action(frame["type"], payload), 0
        )
        numbered = list(enumerate(events, first))
        self.last_move = max([n for n, event in numbered if event.is_move] or [self.last_move])
        self.accepted[frame["request_id"]] = self.state.event_count
        return numbered

    async def push(self, events):
        if self.lose_pushes:
            self.lose_pushes -= 1
            return
        for seat in list(self.sockets):
            for sequence, event in events:
                view = {"event": event.type, "seat": event.seat, "payload": event.payload}
                await self.send(seat, "GAME_EVENT", view | {"sequence": sequence})
            await self.show(seat)

    async def show(self, seat):
        """Send the present state as one player may see it."""
        state = msgspec.to_builtins(DURAK.public_view(self.state))
        for player, player_id in zip(state["players"], self.players, strict=True):
            player |= {"player_id": player_id, "nickname": f"P{player['seat']}"}
        await self.send(seat, "GAME_STATE", state)
        await self.send(
            seat, "YOUR_HAND", msgspec.to_builtins(DURAK.private_view(self.state, seat))
        )
        if self.state.finish_kind is not None:
            await self.send(seat, "GAME_FINISHED", {"result": list(self.state.places)})

    async def send(self, seat, type_, fields):
        frame = {"type": type_, "game_id": GAME_ID, "sequence": self.state.event_count, **fields}
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # one that has just gone
            await self.sockets[seat].send_bytes(msgspec.json.encode(frame))

    async def cut(self, seat):
        """End a player's connection."""
        await self.sockets[seat].close(1012)


@pytest.fixture
async def gateway():
    gateway = Gateway()
    config = uvicorn.Config(
        gateway.app, port=0, log_config=None, lifespan="off", ws="websockets-sansio"
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server._serve())  # without its signal handlers
    async with asyncio.timeout(10):
        while not server.started:  # noqa: ASYNC110  # uvicorn has no event for it
            await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    gateway.endpoints = Endpoints.of_edge(f"http://127.0.0.1:{port}")
    yield gateway
    server.should_exit = True
    await serving


@contextlib.asynccontextmanager
async def seated(gateway, patience_s=5.0):
    """Connect two players; both see their cards."""
    async with contextlib.AsyncExitStack() as stack:
        apis = [
            await stack.enter_async_context(Api(gateway.endpoints, patience_s=patience_s))
            for _ in range(2)
        ]
        for number, api in enumerate(apis):
            await api.be_guest(f"P{number}")
        clients = [await stack.enter_async_context(PlayerClient(api)) for api in apis]
        for client in clients:
            await client.until(lambda client=client: has_cards(client), 5)
        yield clients


def has_cards(client):
    game = client.games.get(GAME_ID)
    return game is not None and game.hand is not None


def first_move(gateway, clients):
    """Return who opens, and the frame fields of a legal attack."""
    client = clients[gateway.state.attacker]
    [move, *_] = moves_of(client.games[GAME_ID], client.api.player_id)
    return client, (GAME_ID, move.type, json.loads(move.payload))


async def play_both(clients):
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        ends = [group.create_task(play(client, GAME_ID, idle_s=0.2)) for client in clients]
    return [end.result()["result"] for end in ends]


async def test_two_clients_play_a_game_to_the_end(gateway):
    async with seated(gateway) as clients:
        results = await play_both(clients)

    assert results[0] == results[1] == list(gateway.state.places)
    recorded = [action for client in clients for action in client.acknowledged]
    assert {action.request_id: action.sequence for action in recorded} == gateway.accepted


async def test_a_game_survives_lost_replies_lost_pushes_and_broken_lines(gateway):
    async with seated(gateway) as clients:
        gateway.lose_replies = 3
        gateway.lose_pushes = 1
        gateway.fail_with = ["ERR_TIMEOUT", "ERR_RATE_LIMITED", "ERR_UNAVAILABLE"]
        results = await play_both(clients)
        connections = sum(client.connections for client in clients)

    assert results[0] == results[1]
    assert connections > 2
    recorded = [action for client in clients for action in client.acknowledged]
    assert {action.request_id: action.sequence for action in recorded} == gateway.accepted


async def test_an_action_whose_reply_was_lost_is_sent_again_unchanged(gateway):
    async with seated(gateway) as clients:
        client, action = first_move(gateway, clients)
        gateway.lose_replies = 1
        accepted = await client.act(*action)

    assert len(gateway.requests) == 2
    assert len(set(gateway.requests)) == 1
    assert client.acknowledged == [accepted]


async def test_an_action_without_an_outcome_is_repeated(gateway):
    async with seated(gateway) as clients:
        client, action = first_move(gateway, clients)
        gateway.fail_with = ["ERR_INTERNAL", "ERR_TIMEOUT"]
        await client.act(*action)

    assert [request_id for request_id, _ in gateway.requests] == list(gateway.accepted) * 3


async def test_a_refused_action_is_not_recorded(gateway):
    async with seated(gateway) as clients:
        client, action = first_move(gateway, clients)
        with pytest.raises(Refused, match="ERR_STALE_STATE"):
            await client.act(*action, sequence=0)

    assert client.acknowledged == []


async def test_a_client_that_lost_its_line_comes_back_to_the_present_state(gateway):
    async with seated(gateway) as clients:
        client, action = first_move(gateway, clients)
        other = clients[1 - gateway.state.attacker]
        gateway.lose_pushes = 1
        await client.act(*action)
        gateway.refusals = [(503, "ERR_UNAVAILABLE")]
        await gateway.cut(clients.index(other))
        await other.until(lambda: other.games[GAME_ID].sequence == gateway.state.event_count, 5)

        assert other.connections == 2


async def test_a_client_whose_session_has_ended_says_so(gateway):
    async with seated(gateway) as clients:
        gateway.refusals = [(401, "ERR_SESSION_REVOKED")]
        await gateway.cut(0)

        with pytest.raises(ApiError, match="ERR_SESSION_REVOKED"):
            await clients[0].until(lambda: False, 5)


async def test_the_story_tells_every_move_once(gateway):
    told = []
    async with seated(gateway) as clients:
        story = Story(told.append)
        story.begin(clients[0].games[GAME_ID])
        clients[0].on_frame = story.hear
        await play_both(clients)

    assert told[0].startswith("The trump is ")
    assert len(told) > len(gateway.accepted)
    assert not any("while the line was down" in line for line in told)


async def test_the_story_tells_that_it_missed_something(gateway):
    told = []
    async with seated(gateway) as clients:
        story = Story(told.append)
        story.begin(clients[0].games[GAME_ID])
        clients[0].on_frame = story.hear
        gateway.lose_pushes = 1
        await play_both(clients)

    assert sum("while the line was down" in line for line in told) == 1
