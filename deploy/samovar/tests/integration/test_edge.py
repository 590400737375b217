"""The edge: what goes where, what upstreams are told, what never reaches a log."""

import asyncio
import http.server
import json
import threading
from collections.abc import Iterator
from typing import cast

import httpx
import pytest
from typing_extensions import override
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve

from samovar.embedded.caddy import CaddyServer
from samovar.ports import LOOPBACK, free_port


class _Echo(http.server.BaseHTTPRequestHandler):
    """Answers with what it was sent."""

    def do_GET(self) -> None:
        name = cast(_Upstream, self.server).name
        body = json.dumps({"upstream": name, "path": self.path, **dict(self.headers)}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, *arguments: object) -> None:
        pass


class _Upstream(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, name: str, port: int) -> None:
        self.name = name
        super().__init__((LOOPBACK, port), _Echo)


@pytest.fixture(scope="module")
def upstreams() -> Iterator[dict[str, int]]:
    ports = {name: free_port() for name in ("auth.http", "realtime.http", "realtime.ws")}
    running = [_Upstream(name, ports[name]) for name in ("auth.http", "realtime.http")]
    threads = [threading.Thread(target=server.serve_forever) for server in running]
    for thread in threads:
        thread.start()
    yield ports
    for server, thread in zip(running, threads, strict=True):
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def edge(
    upstreams: dict[str, int], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CaddyServer]:
    directory = tmp_path_factory.mktemp("edge")
    edge = CaddyServer(directory / "caddy", directory / "edge.log", free_port(), upstreams)
    edge.start()
    yield edge
    edge.stop()


def _get(edge: CaddyServer, path: str, **headers: str) -> httpx.Response:
    return httpx.get(edge.url + path, headers=headers, timeout=10)


@pytest.mark.parametrize(
    ("path", "upstream"),
    [
        ("/v1/auth/login", "auth.http"),
        ("/v1/players/me", "auth.http"),
        ("/v1/ws/ticket", "auth.http"),
        ("/.well-known/jwks.json", "auth.http"),
        ("/v1/rooms", "realtime.http"),
        ("/v1/wallet/balance", "realtime.http"),
        ("/docs", "realtime.http"),
        ("/openapi.json", "realtime.http"),
        ("/asyncapi.json", "realtime.http"),
    ],
)
def test_each_path_goes_to_its_service(edge: CaddyServer, path: str, upstream: str) -> None:
    answer = _get(edge, path).json()

    assert answer["upstream"] == upstream
    assert answer["path"] == path


def test_the_welcome_page_is_at_the_root(edge: CaddyServer) -> None:
    page = _get(edge, "/")

    assert page.status_code == 200
    assert "<title>Samovar</title>" in page.text
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert _get(edge, "/no-such-page").status_code == 404


def test_the_clients_address_comes_from_the_edge_alone(edge: CaddyServer) -> None:
    forged = {"X-Forwarded-For": "6.6.6.6", "X-Real-IP": "6.6.6.6", "Forwarded": "for=6.6.6.6"}

    answer = _get(edge, "/v1/rooms", **forged).json()

    assert answer["X-Forwarded-For"] == LOOPBACK
    assert "6.6.6.6" not in json.dumps(answer)


async def test_a_websocket_passes_through(edge: CaddyServer, upstreams: dict[str, int]) -> None:
    async def echo(connection: ServerConnection) -> None:
        async for message in connection:
            await connection.send(message)

    async with (
        serve(echo, LOOPBACK, upstreams["realtime.ws"]),
        connect(f"ws://{LOOPBACK}:{edge.port}/ws?ticket=t") as connection,
    ):
        await connection.send("hello")

        assert await asyncio.wait_for(connection.recv(), 5) == "hello"


def test_a_service_that_is_away_is_an_error_of_the_protocol(edge: CaddyServer) -> None:
    answer = _get(edge, "/ws")

    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "ERR_UNAVAILABLE"


async def test_no_token_reaches_the_log(edge: CaddyServer) -> None:
    async with httpx.AsyncClient(base_url=edge.url, timeout=10) as client:
        await asyncio.gather(
            client.get(
                "/v1/rooms?access_token=secret-one", headers={"Authorization": "Bearer secret-two"}
            ),
            client.get("/ws?ticket=secret-three"),  # away: an error
            client.get("/cable/secret-four"),
        )

    text = await asyncio.to_thread(edge.log.read_text)
    assert '"uri":"/v1/rooms"' in text
    assert '"uri":"/ws"' in text
    assert "secret" not in text
