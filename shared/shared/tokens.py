"""Access tokens: JWT, EdDSA (Ed25519), verified offline with the published key set (JWKS).

Claims: ``sub`` player id, ``sid`` session id, ``role``, ``aud`` (api, ws or sub: never
interchangeable), ``exp``, ``iat``.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import jwt

from shared.contracts.auth import Identity, Role
from shared.errors import TokenExpired, Unauthorized, Unavailable

ALGORITHM = "EdDSA"
AUDIENCE_API = "api"
REFRESH_MIN_S = 10.0  # an unknown key id makes us look for new keys at most this often
RETRY_S = 1.0  # after a fetch that failed

FetchKeys = Callable[[], Awaitable[tuple[dict[str, Any], ...]]]
Now = Callable[[], float]


def sign(
    identity: Identity, *, key: Any, key_id: str, audience: str = AUDIENCE_API, now: datetime
) -> str:
    """Sign an access token for an identity; ``key`` is an Ed25519 private key."""
    claims = {
        "sub": str(identity.player_id),
        "sid": str(identity.session_id),
        "role": identity.role.value,
        "aud": audience,
        "iat": int(now.timestamp()),
        "exp": int(identity.expires_at.timestamp()),
    }
    return jwt.encode(claims, key, algorithm=ALGORITHM, headers={"kid": key_id})


class TokenVerifier:
    """Verifies access tokens; fetches the key set when a token names an unknown key.

    All who wait for keys share one fetch, and fetches keep a pause between them, whether they
    succeed or not: strangers cannot make us ask auth more often.
    """

    def __init__(self, fetch: FetchKeys, now: Now) -> None:
        """``now`` is a monotonic time in seconds."""
        self._fetch = fetch
        self._now = now
        self._keys: dict[str, jwt.PyJWK] = {}
        self._asked_at = float("-inf")
        self._fetching: asyncio.Task[None] | None = None

    async def verify(self, token: str, *, audience: str = AUDIENCE_API) -> Identity:
        """Return who the token speaks for.

        Raises:
            TokenExpired: if it was good once.
            Unauthorized: if it is not a token of ours for this audience.
            Unavailable: if no keys are known yet and auth does not give them.
        """
        try:
            key = await self._key(str(jwt.get_unverified_header(token).get("kid")))
            claims = jwt.decode(
                token,
                key,
                algorithms=[ALGORITHM],
                audience=audience,
                options={"require": ["sub", "sid", "role", "exp", "aud"]},
            )
            return Identity(
                player_id=UUID(claims["sub"]),
                session_id=UUID(claims["sid"]),
                role=Role(claims["role"]),
                expires_at=datetime.fromtimestamp(claims["exp"], UTC),
            )
        except jwt.ExpiredSignatureError as error:
            raise TokenExpired from error
        except (jwt.PyJWTError, ValueError, KeyError) as error:
            raise Unauthorized from error

    async def _key(self, key_id: str) -> jwt.PyJWK:
        if key_id not in self._keys:
            await self._refresh()
        if not self._keys:
            raise Unavailable("the keys of tokens are not known yet")
        return self._keys[key_id]

    async def _refresh(self) -> None:
        if self._fetching is None:
            if self._now() - self._asked_at < REFRESH_MIN_S:
                return
            self._asked_at = self._now()
            self._fetching = asyncio.create_task(self._load())
            self._fetching.add_done_callback(self._fetched)
        await asyncio.shield(self._fetching)

    async def _load(self) -> None:
        fetched = await self._fetch()
        self._keys = {str(k["kid"]): jwt.PyJWK(k, algorithm=ALGORITHM) for k in fetched}

    def _fetched(self, task: asyncio.Task[None]) -> None:
        self._fetching = None
        if task.cancelled() or task.exception() is not None:
            self._asked_at = self._now() - REFRESH_MIN_S + RETRY_S
