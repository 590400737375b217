import httpx
import pytest
from pydantic import BaseModel

from shared import errors
from shared.http import MAX_BODY_BYTES, add_health, create_app


class Thing(BaseModel):
    name: str


@pytest.fixture
async def client():
    app = create_app("test")
    state = {"accepting": True, "healthy": True}

    @app.post("/things")
    async def make(thing: Thing) -> Thing:
        return thing

    @app.get("/refused")
    async def refused() -> None:
        raise errors.StaleState(sequence=4)

    @app.get("/bug")
    async def bug() -> None:
        raise KeyError("secret column")

    async def check() -> None:
        if not state["healthy"]:
            raise ConnectionError("secret address")

    add_health(app, {"postgres": check}, lambda: state["accepting"])
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as http:
        http.state = state
        yield http


def is_problem(response, status, code):
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["x-request-id"] == response.json()["request_id"]
    assert response.json()["status"] == response.status_code
    return (response.status_code, response.json()["code"]) == (status, code)


async def test_a_refusal_is_a_problem_with_code_and_details(client):
    response = await client.get("/refused")

    assert is_problem(response, 409, "ERR_STALE_STATE")
    assert response.json()["details"] == {"sequence": 4}


async def test_a_bug_tells_nothing_but_the_request_id(client):
    response = await client.get("/bug")

    assert is_problem(response, 500, "ERR_INTERNAL")
    assert "secret" not in response.text


@pytest.mark.parametrize("body", ["", "{", "[]", '{"name": 1}', '{"nome": "x"}'])
async def test_a_body_of_a_wrong_shape_is_an_invalid_request(client, body):
    response = await client.post("/things", content=body)

    assert is_problem(response, 400, "ERR_INVALID_REQUEST")


async def test_unknown_paths_and_methods_keep_their_status(client):
    assert is_problem(await client.get("/nowhere"), 404, "ERR_INVALID_REQUEST")
    assert is_problem(await client.get("/things"), 405, "ERR_INVALID_REQUEST")


async def test_a_body_over_the_limit_is_refused_with_and_without_its_length(client):
    async def chunks():
        for _ in range(MAX_BODY_BYTES // 1024 + 1):
            yield b" " * 1024

    told = await client.post("/things", content=b" " * (MAX_BODY_BYTES + 1))
    chunked = await client.post("/things", content=chunks())

    assert is_problem(told, 400, "ERR_INVALID_REQUEST")
    assert is_problem(chunked, 400, "ERR_INVALID_REQUEST")


async def test_a_callers_request_id_is_taken_only_if_it_is_a_uuid(client):
    good = "6f1d0c1e-6c1f-4d1e-9d0a-0d6b5b1c2a01"

    taken = await client.get("/refused", headers={"X-Request-Id": good})
    dropped = await client.get("/refused", headers={"X-Request-Id": "x" * 4000})

    assert taken.headers["x-request-id"] == good
    assert len(dropped.headers["x-request-id"]) == 36


async def test_readiness_names_what_failed_and_nothing_else(client):
    assert (await client.get("/readyz")).status_code == 200

    client.state["healthy"] = False
    client.state["accepting"] = False
    response = await client.get("/readyz")

    assert response.status_code == 503
    assert response.json()["failed"] == {"draining": "true", "postgres": "ConnectionError"}
    assert (await client.get("/healthz")).status_code == 200
    assert "process_cpu_seconds_total" in (await client.get("/metrics")).text
