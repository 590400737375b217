"""What other services ask auth."""

from datetime import timedelta

import structlog

from auth import session_store, store, usecases
from auth.parts import Parts
from shared.contracts import auth as contract
from shared.errors import SessionRevoked, Unauthorized

# A revocation is stamped before it commits, by any replica's clock: what a caller has seen so far
# ends a little earlier than now.
REVOKED_OVERLAP = timedelta(seconds=30)
REVOKED_MAX = 20_000  # 39 bytes each; a reply over NATS may have 1 MB

log = structlog.get_logger()


class Rpc:
    """Handlers of the commands in ``shared.contracts.auth``; all but the ticket are queries."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def serve(self) -> None:
        """Answer from now on."""
        bus = self._parts.bus
        await bus.serve(contract.REDEEM_TICKET, self.redeem_ticket)
        await bus.serve(contract.GET_JWKS, self.get_jwks)
        await bus.serve(contract.GET_PROFILES, self.get_profiles)
        await bus.serve(contract.LIST_BOTS, self.list_bots)
        await bus.serve(contract.LIST_REVOKED, self.list_revoked)

    async def redeem_ticket(self, request: contract.RedeemTicket) -> contract.Identity:
        """Spend a ticket; the identity lasts as long as the session.

        Not idempotent on purpose: a caller whose reply was lost asks for another ticket.

        Raises:
            Unauthorized: if it is unknown, spent or too old, or its session has been revoked.
            TokenExpired: if its session has ended by time.
        """
        session_id = await self._parts.tickets.redeem(request.ticket)
        if session_id is None:
            raise Unauthorized
        now = self._parts.now()
        try:
            found = await self._parts.db.run(lambda tx: usecases.get_active(tx, session_id, now))
        except SessionRevoked as error:
            raise Unauthorized from error
        return contract.Identity(
            player_id=found.player.id,
            session_id=session_id,
            role=found.player.role,
            expires_at=found.session.expires_at,
        )

    async def get_jwks(self, _: contract.Empty) -> contract.Jwks:
        """Return the public keys of access tokens."""
        return self._parts.keys.jwks

    async def get_profiles(self, request: contract.GetProfiles) -> contract.Profiles:
        """Return the profiles of those ids that exist."""
        found = await self._parts.db.run(lambda tx: store.find_profiles(tx, request.player_ids))
        return contract.Profiles(profiles=found)

    async def list_bots(self, _: contract.Empty) -> contract.Profiles:
        """Return all bot accounts."""
        return contract.Profiles(profiles=await self._parts.db.run(store.list_bots))

    async def list_revoked(self, request: contract.ListRevoked) -> contract.RevokedSessions:
        """Return what was revoked since a moment and would live on; ask again with ``as_of``."""
        now = self._parts.now()
        found = await self._parts.db.run(
            lambda tx: session_store.list_revoked(tx, request.since, now, REVOKED_MAX)
        )
        if len(found) == REVOKED_MAX:
            log.error("revoked sessions cut off", count=REVOKED_MAX)
        return contract.RevokedSessions(session_ids=found, as_of=now - REVOKED_OVERLAP)
