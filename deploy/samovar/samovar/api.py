"""REST calls of one player: repeated while nobody answers, with tokens that renew themselves."""

import asyncio
import random
import time
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID, uuid4

import httpx

_OF_AUTH = ("/v1/auth/", "/v1/players/", "/v1/ws/")
# Nobody was there, or nobody knows what became of it: the same request may be sent again.
_REPEATABLE = frozenset({429, 500, 502, 503, 504})
_PAUSE_MIN_S = 0.1
_PAUSE_MAX_S = 2.0


class ApiError(Exception):
    """A refusal. ``code`` is one of the platform's, or ``HTTP <status>`` if there was none."""

    def __init__(self, call: str, status: int, code: str, message: str) -> None:
        super().__init__(f"{call}: {code}: {message}")
        self.status = status
        self.code = code


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where a platform listens; behind an edge all three are one origin."""

    auth: str
    rest: str
    socket: str

    @classmethod
    def of_edge(cls, url: str) -> Self:
        """Return the endpoints behind one origin, such as ``http://127.0.0.1:8640``."""
        origin = url.rstrip("/")
        return cls(origin, origin, "ws" + origin.removeprefix("http") + "/ws")


class Api:
    """A player's REST client. Use as an async context manager.

    Every POST carries an ``Idempotency-Key`` that stays the same when it is repeated.
    """

    def __init__(self, endpoints: Endpoints, *, patience_s: float = 30.0) -> None:
        """``patience_s`` bounds how long a call is repeated while nobody answers."""
        self.endpoints = endpoints
        self.player_id = ""
        self.nickname = ""
        self._patience_s = patience_s
        self._access_token = ""
        self._refresh_token = ""
        self._http = httpx.AsyncClient(timeout=10, trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def sign_up(self, nickname: str, *, email: str, password: str) -> None:
        """Register a player and sign in."""
        body = {"email": email, "password": password, "nickname": nickname}
        self._keep(await self.post("/v1/auth/signup", body))

    async def be_guest(self, nickname: str) -> None:
        """Sign in without an account."""
        self._keep(await self.post("/v1/auth/guest", {"nickname": nickname}))

    async def ticket(self) -> str:
        """Fetch a ticket for one WebSocket handshake."""
        return str((await self.post("/v1/ws/ticket"))["ticket"])

    async def get(self, path: str, **params: str | int) -> Any:
        """GET a path below the origin; return the decoded body.

        Raises:
            ApiError: the platform's refusal, or the last answer when patience ends.
            httpx.TransportError: if nobody answered at all.
        """
        return await self._call("GET", path, params=params)

    async def post(
        self, path: str, body: dict[str, Any] | None = None, *, key: UUID | None = None
    ) -> Any:
        """POST a JSON body; raises what ``get`` raises. ``key``: repeat an earlier call."""
        headers = {"Idempotency-Key": str(key or uuid4())}
        return await self._call("POST", path, json=body, headers=headers)

    async def _call(self, method: str, path: str, **request: Any) -> Any:
        give_up_at = time.monotonic() + self._patience_s
        pause_s = _PAUSE_MIN_S
        while True:
            try:
                return await self._call_once(method, path, **request)
            except httpx.TransportError:
                if time.monotonic() > give_up_at:
                    raise
            except ApiError as error:
                if error.status not in _REPEATABLE or time.monotonic() > give_up_at:
                    raise
            await asyncio.sleep(pause_s * random.uniform(0.5, 1))  # noqa: S311  # spreads repeats
            pause_s = min(2 * pause_s, _PAUSE_MAX_S)

    async def _call_once(self, method: str, path: str, **request: Any) -> Any:
        response = await self._send(method, path, **request)
        if response.status_code == httpx.codes.UNAUTHORIZED and self._refresh_token:
            if _code_of(response) != "ERR_TOKEN_EXPIRED":
                raise _to_error(f"{method} {path}", response)
            await self._refresh()
            response = await self._send(method, path, **request)
        if response.is_error:
            raise _to_error(f"{method} {path}", response)
        return response.json() if response.content else None

    async def _send(
        self, method: str, path: str, headers: dict[str, str] | None = None, **request: Any
    ) -> httpx.Response:
        origin = self.endpoints.auth if path.startswith(_OF_AUTH) else self.endpoints.rest
        headers = dict(headers or {})
        if self._access_token:
            headers["Authorization"] = f"Bearer {self._access_token}"
        return await self._http.request(method, origin + path, headers=headers, **request)

    async def _refresh(self) -> None:
        path = "/v1/auth/refresh"
        response = await self._send("POST", path, json={"refresh_token": self._refresh_token})
        if response.is_error:
            raise _to_error(f"POST {path}", response)
        self._keep(response.json())

    def _keep(self, tokens: dict[str, Any]) -> None:
        self._access_token = tokens["access_token"]
        self._refresh_token = tokens["refresh_token"]
        self.player_id = tokens["player"]["player_id"]
        self.nickname = tokens["player"]["nickname"]


def _code_of(response: httpx.Response) -> str:
    try:
        return str(response.json()["code"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {response.status_code}"


def _to_error(call: str, response: httpx.Response) -> ApiError:
    try:
        message = str(response.json()["title"])
    except (ValueError, KeyError, TypeError):
        message = response.reason_phrase
    return ApiError(call, response.status_code, _code_of(response), message)
