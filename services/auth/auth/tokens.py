"""Access tokens of this service: signing them, and reading them back at its own door."""

from datetime import datetime
from typing import Any

from auth.domain.sessions import Lifetimes, access_expires_at
from auth.keys import KeySet
from auth.session_store import SignedIn
from shared import tokens
from shared.contracts.auth import Identity


class AccessTokens:
    def __init__(self, keys: KeySet, life: Lifetimes) -> None:
        self._keys = keys
        self._life = life
        # All keys are known from the start: looking for newer ones would find the same.
        self._verifier = tokens.TokenVerifier(self._own_keys, lambda: 0.0)

    def issue(self, signed_in: SignedIn, now: datetime) -> tuple[str, int]:
        """Return an access token and the seconds it is good for."""
        session, player = signed_in.session, signed_in.player
        expires_at = access_expires_at(session, now, self._life)
        identity = Identity(
            player_id=player.id, session_id=session.id, role=player.role, expires_at=expires_at
        )
        key = self._keys.signing
        token = tokens.sign(identity, key=key.private, key_id=key.id, now=now)
        return token, int((expires_at - now).total_seconds())

    async def verify(self, token: str) -> Identity:
        """Return who a token speaks for; the session must be looked up besides.

        Raises:
            TokenExpired, Unauthorized: see ``shared.tokens``.
        """
        return await self._verifier.verify(token)

    async def _own_keys(self) -> tuple[dict[str, Any], ...]:
        return self._keys.jwks.keys
