"""What every route needs: who is calling, the id of the request, and the documented errors."""

from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Header, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel

from realtime.backend import Backend, Moves
from realtime.feeds import Feeds
from realtime.gatekeeper import Gatekeeper
from realtime.limits import STATES_BURST_S, commands_limit, states_limit
from realtime.settings import Settings
from shared import errors
from shared.contracts.auth import Identity, Role
from shared.ids import new_id
from shared.ratelimit import Limit, RateLimiter


@dataclass(frozen=True, slots=True)
class Facade:
    """What the routes work with."""

    backend: Backend
    moves: Moves
    feeds: Feeds
    gatekeeper: Gatekeeper
    limiter: RateLimiter
    settings: Settings

    async def limit_seats(self, player_id: UUID) -> None:
        """Count a join or a leave; raises RateLimited."""
        per_minute = self.settings.seats_per_minute
        await self.limiter.check(Limit("seats", per_minute, 60, per_minute), player_id)

    async def limit_commands(self, player_id: UUID) -> None:
        """Count a command on a game over HTTP; raises RateLimited."""
        await self.limiter.check(commands_limit(self.settings), player_id)

    async def limit_states(self, player_id: UUID) -> None:
        """Count a request for a state or a history over HTTP; raises RateLimited."""
        await self.limiter.check(states_limit(self.settings, STATES_BURST_S), player_id)


class Problem(BaseModel):
    """An error (RFC 9457); ``code`` is stable, the texts are for people."""

    type: str
    title: str
    status: int
    code: str
    request_id: UUID
    details: dict[str, Any] | None = None


ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": Problem, "description": "Refused; see `code`."},
    "5XX": {"model": Problem, "description": "Unknown outcome: repeat with the same ids."},
}

_bearer = HTTPBearer(auto_error=False, description="Access token of auth.")


def facade_of(request: Request) -> Facade:
    facade: Facade = request.app.state.facade
    return facade


UseFacade = Annotated[Facade, Depends(facade_of)]


async def _caller(
    facade: UseFacade,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Identity:
    """Return who calls; ERR_UNAUTHORIZED, ERR_TOKEN_EXPIRED or ERR_SESSION_REVOKED."""
    if not facade.gatekeeper.loaded.is_set():
        raise errors.Unavailable
    if credentials is None:
        raise errors.Unauthorized
    return await facade.gatekeeper.by_token(credentials.credentials)


Caller = Annotated[Identity, Depends(_caller)]


def _request_id(
    idempotency_key: Annotated[
        UUID | None,
        Header(description="A UUID made by the caller; the same key repeats the same request."),
    ] = None,
) -> UUID:
    return idempotency_key or new_id()


RequestId = Annotated[UUID, Depends(_request_id)]


def is_guest(identity: Identity) -> bool:
    return identity.role is Role.GUEST
