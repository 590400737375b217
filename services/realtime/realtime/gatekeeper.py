"""Who may come in: access tokens, tickets, and the sessions that were revoked."""

import asyncio
import time
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog

from realtime.backend import Backend
from shared import clock, errors
from shared.contracts.auth import (
    GET_JWKS,
    LIST_REVOKED,
    REDEEM_TICKET,
    Empty,
    Identity,
    ListRevoked,
    RedeemTicket,
)
from shared.tokens import TokenVerifier

# No access token lives longer (protocol §4), so older revocations need not be known.
TOKEN_LIFE_MAX = timedelta(minutes=65)
OVERLAP = timedelta(seconds=10)  # for revocations that were being committed while we asked

log = structlog.get_logger()


class Gatekeeper:
    """Verifies credentials offline; knows which sessions are over before their tokens are."""

    def __init__(self, backend: Backend, now: clock.Clock) -> None:
        self._backend = backend
        self._clock = now
        self._verifier = TokenVerifier(self._fetch_keys, time.monotonic)
        self._revoked: dict[UUID, float] = {}  # session -> when it can be forgotten (unix s)
        self._known_until = clock.from_ms(now.now_ms()) - TOKEN_LIFE_MAX
        self.loaded = asyncio.Event()

    async def by_token(self, token: str) -> Identity:
        """Return who an access token speaks for.

        Raises:
            Unauthorized, TokenExpired, SessionRevoked: the token is not good.
            AppError: one of UNKNOWN_OUTCOME, if the keys cannot be had.
        """
        identity = await self._verifier.verify(token)
        self.require_live(identity)
        return identity

    async def by_ticket(self, ticket: str) -> Identity:
        """Redeem a single-use ticket; raises what ``by_token`` raises."""
        if not 0 < len(ticket) <= 100:
            raise errors.Unauthorized
        # Not repeated: a ticket whose reply got lost is spent, and its client fetches another.
        identity = await self._backend.once(REDEEM_TICKET, RedeemTicket(ticket=ticket))
        self.require_live(identity)
        return identity

    def require_live(self, identity: Identity) -> None:
        """Raise SessionRevoked if the identity's session was revoked."""
        if identity.session_id in self._revoked:
            raise errors.SessionRevoked

    def revoke(self, session_id: UUID) -> None:
        """Note that a session is over."""
        now_s = self._clock.now_ms() / 1000
        self._revoked[session_id] = now_s + TOKEN_LIFE_MAX.total_seconds()

    async def load_revoked(self) -> tuple[UUID, ...]:
        """Fetch what was revoked since the last time; return it."""
        since = self._known_until - OVERLAP
        reply = await self._backend.ask(LIST_REVOKED, ListRevoked(since=since))
        for session_id in reply.session_ids:
            self.revoke(session_id)
        self._known_until = reply.as_of
        self._forget_old()
        self.loaded.set()
        return reply.session_ids

    async def check(self) -> None:
        """Readiness: nobody is let in before the revocations are known."""
        if not self.loaded.is_set():
            raise RuntimeError("revoked sessions are not loaded")

    def _forget_old(self) -> None:
        now_s = self._clock.now_ms() / 1000
        for session_id in [key for key, until in self._revoked.items() if until < now_s]:
            del self._revoked[session_id]

    async def _fetch_keys(self) -> tuple[dict[str, Any], ...]:
        return (await self._backend.ask(GET_JWKS, Empty())).keys
