"""The REST facade: what reaches the services, and what comes back."""

from typing import Any
from uuid import UUID

import pytest

from services.realtime.tests.integration.world import World
from shared import errors
from shared.contracts import lobby
from shared.contracts.auth import Role
from shared.ids import new_id

ROOM = {"game": "durak", "mode": "throw_in", "players_count": 2, "bet": 100}
ROUTES = [
    ("GET", "/v1/rooms"), ("POST", "/v1/rooms"), ("GET", f"/v1/rooms/{new_id()}"),
    ("POST", f"/v1/rooms/{new_id()}/join"), ("POST", f"/v1/rooms/{new_id()}/leave"),
    ("POST", f"/v1/rooms/{new_id()}/add-bot"), ("POST", "/v1/rooms/join-by-code"),
    ("GET", f"/v1/games/{new_id()}"), ("GET", f"/v1/games/{new_id()}/events"),
    ("POST", f"/v1/games/{new_id()}/commands"), ("GET", "/v1/me/games"), ("GET", "/v1/me/rooms"),
    ("GET", "/v1/wallet"), ("GET", "/v1/wallet/transactions"),
]  # fmt: skip


async def test_nothing_is_served_without_a_good_token(world: World) -> None:
    expired = world.auth.identity(seconds=-1)
    async with world.rest() as nobody, world.rest(expired) as late:
        for method, path in ROUTES:
            replies = [await client.request(method, path, json={}) for client in (nobody, late)]

            assert [reply.status_code for reply in replies] == [401, 401]
            codes = [reply.json()["code"] for reply in replies]
            assert codes == ["ERR_UNAUTHORIZED", "ERR_TOKEN_EXPIRED"]
            assert replies[0].headers["content-type"] == "application/problem+json"


async def test_a_revoked_session_is_refused(world: World) -> None:
    identity = world.auth.identity()
    socket = await world.enter(identity)
    await world.auth.revoke(identity.session_id)
    await socket.closed()

    async with world.rest(identity) as rest:
        reply = await rest.get("/v1/wallet")

    assert (reply.status_code, reply.json()["code"]) == (401, "ERR_SESSION_REVOKED")


async def test_a_room_is_made_once_for_each_idempotency_key(world: World) -> None:
    identity = world.auth.identity()
    key = new_id()

    async with world.rest(identity) as rest:
        replies = [
            await rest.post("/v1/rooms", json=ROOM, headers={"Idempotency-Key": str(key)}),
            await rest.post("/v1/rooms", json=ROOM),
        ]

    assert [reply.status_code for reply in replies] == [201, 201]
    assert lobby.RoomView.model_validate(replies[0].json()) == world.lobby.room
    first, second = world.lobby.calls
    assert first == lobby.CreateRoom(
        player_id=identity.player_id, is_guest=False, request_id=key, **ROOM
    )
    assert second.request_id != key


async def test_guests_are_marked_as_such(world: World) -> None:
    guest = world.auth.identity(role=Role.GUEST)

    async with world.rest(guest) as rest:
        await rest.post(f"/v1/rooms/{new_id()}/join")
        await rest.get("/v1/wallet")

    assert world.lobby.calls[0].is_guest is True
    assert world.economy.calls[0].registered is False


async def test_every_room_command_names_the_caller_and_the_room(world: World) -> None:
    identity, room_id, key = world.auth.identity(), new_id(), new_id()
    headers = {"Idempotency-Key": str(key)}
    who = {"player_id": identity.player_id}

    async with world.rest(identity) as rest:
        for path in ("join", "leave", "add-bot"):
            reply = await rest.post(f"/v1/rooms/{room_id}/{path}", headers=headers)
            assert reply.status_code == 200
        await rest.post("/v1/rooms/join-by-code", json={"join_code": "AB12"}, headers=headers)
        await rest.get(f"/v1/rooms/{room_id}")
        await rest.get("/v1/rooms", params={"game": "durak", "limit": 5, "cursor": "c"})
        await rest.get("/v1/me/rooms")

    assert world.lobby.calls == [
        lobby.JoinRoom(**who, is_guest=False, request_id=key, room_id=room_id),
        lobby.LeaveRoom(**who, room_id=room_id),
        lobby.AddBot(**who, request_id=key, room_id=room_id),
        lobby.JoinByCode(**who, is_guest=False, request_id=key, join_code="AB12"),
        lobby.GetRoom(**who, room_id=room_id),
        lobby.ListRooms(game="durak", limit=5, cursor="c"),
        lobby.ListPlayerRooms(**who),
    ]


@pytest.mark.parametrize(
    "refusal",
    [errors.RoomFull(), errors.InsufficientFunds(), errors.RoomNotFound(), errors.Forbidden()],
)
async def test_a_refusal_of_the_lobby_is_a_problem_with_its_code(
    world: World, refusal: errors.AppError
) -> None:
    world.lobby.refuse = refusal

    async with world.rest(world.auth.identity()) as rest:
        reply = await rest.post(f"/v1/rooms/{new_id()}/join")

    assert reply.status_code == refusal.http_status
    problem = reply.json()
    assert (problem["code"], problem["status"]) == (refusal.code, refusal.http_status)
    assert UUID(problem["request_id"]).version == 7


WRONG: list[tuple[str, Any, dict[str, str]]] = [
    ("/v1/rooms", {**ROOM, "player_id": str(new_id())}, {}),
    ("/v1/rooms", {**ROOM, "bet": "100"}, {}),
    ("/v1/rooms", {**ROOM, "players_count": 2.5}, {}),
    ("/v1/rooms", {"game": "durak"}, {}),
    ("/v1/rooms", [], {}),
    ("/v1/rooms", ROOM, {"Idempotency-Key": "not-a-uuid"}),
    ("/v1/rooms/join-by-code", {"join_code": ""}, {}),
    ("/v1/rooms/not-a-uuid/join", {}, {}),
]


async def test_wrong_shapes_are_invalid_requests(world: World) -> None:
    async with world.rest(world.auth.identity()) as rest:
        for path, body, headers in WRONG:
            reply = await rest.post(path, json=body, headers=headers)

            assert (reply.status_code, reply.json()["code"]) == (400, "ERR_INVALID_REQUEST")

    assert world.lobby.calls == []


async def test_joining_and_leaving_have_one_common_limit(around: World) -> None:
    await around.start_gateway(seats_per_minute=3)

    async with (
        around.rest(around.auth.identity()) as rest,
        around.rest(around.auth.identity()) as other,
    ):
        replies = [
            await rest.post(f"/v1/rooms/{new_id()}/{what}")
            for what in ("join", "leave", "join", "leave")
        ]
        unlimited = await other.post(f"/v1/rooms/{new_id()}/join")

    assert [reply.status_code for reply in replies] == [200, 200, 200, 429]
    assert replies[-1].json()["code"] == "ERR_RATE_LIMITED"
    assert unlimited.status_code == 200


async def test_the_wallet_is_the_caller_s(world: World) -> None:
    identity = world.auth.identity()

    async with world.rest(identity) as rest:
        balance = (await rest.get("/v1/wallet")).json()
        page = (await rest.get("/v1/wallet/transactions", params={"cursor": "c"})).json()

    assert balance == {
        "player_id": str(identity.player_id), "available": 900, "held": 100, "version": 3,
    }  # fmt: skip
    assert page["items"][0]["amount"] == -100
    assert page["next_cursor"] == "c"


async def test_the_api_describes_itself(world: World) -> None:
    async with world.rest() as rest:
        document = (await rest.get("/openapi.json")).json()

    described = {
        (method.upper(), path)
        for path, operations in document["paths"].items()
        for method in operations
    }
    assert {(method, _template(path)) for method, path in ROUTES} <= described
    responses = [o["responses"] for ops in document["paths"].values() for o in ops.values()]
    assert all("4XX" in r and "422" not in r for r in responses)


def _template(path: str) -> str:
    parts = path.split("/")
    name = {"rooms": "{room_id}", "games": "{game_id}"}
    return "/".join(
        name[parts[index - 1]] if index and len(part) == 36 else part
        for index, part in enumerate(parts)
    )


ODD: list[tuple[str, str, Any]] = [
    ("GET", "/v1/rooms?game=%00", None),
    ("GET", "/v1/rooms?mode=%00", None),
    ("GET", "/v1/rooms?players_count=99999999999", None),
    ("POST", "/v1/rooms/join-by-code", {"join_code": "\0"}),
    ("GET", f"/v1/games/{new_id()}/events?after=9223372036854775808", None),
]


async def test_what_no_database_can_hold_is_an_invalid_request(world: World) -> None:
    async with world.rest(world.auth.identity()) as rest:
        for method, path, body in ODD:
            reply = await rest.request(method, path, json=body)

            assert (reply.status_code, reply.json()["code"]) == (400, "ERR_INVALID_REQUEST")

    assert world.lobby.calls == world.engine.calls == []


async def test_errors_are_described_with_their_media_type(world: World) -> None:
    async with world.rest() as rest:
        document = (await rest.get("/openapi.json")).json()

    for operations in document["paths"].values():
        for operation in operations.values():
            for status, response in operation["responses"].items():
                is_error = not status.startswith("2")
                wanted = "application/problem+json" if is_error else "application/json"
                assert list(response["content"]) == [wanted]
    assert "Problem" in document["components"]["schemas"]
