"""Single-use tickets for a WebSocket handshake, in Valkey: they may be lost, never used twice."""

from typing import cast
from uuid import UUID

import redis.asyncio as redis
from redis.exceptions import RedisError

from auth.opaque import hash_of, new_opaque
from shared.errors import Unavailable


class Tickets:
    def __init__(self, client: "redis.Redis", ttl_s: int) -> None:
        self._client = client
        self.ttl_s = ttl_s

    async def issue(self, session_id: UUID) -> str:
        """Return a ticket for a session.

        Raises:
            Unavailable: if Valkey does not answer.
        """
        ticket = new_opaque()
        try:
            await self._client.set(_key(ticket.hash), session_id.hex, ex=self.ttl_s)
        except (RedisError, OSError) as error:
            raise Unavailable from error
        return ticket.text

    async def redeem(self, ticket: str) -> UUID | None:
        """Return the session of a ticket and spend it; None if it is unknown, spent or too old.

        Raises:
            Unavailable: if Valkey does not answer.
        """
        try:
            value = cast(bytes | None, await self._client.getdel(_key(hash_of(ticket))))
        except (RedisError, OSError) as error:
            raise Unavailable from error
        return None if value is None else UUID(value.decode())


def _key(ticket_hash: bytes) -> str:
    return f"ticket:{ticket_hash.hex()}"
