"""The REST interface of auth: accounts, sessions, tickets, profiles, the key set."""

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, FastAPI, Header, HTTPException, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from auth import accounts, schemas, session_store, usecases
from auth.accounts import Origin
from auth.domain.nicknames import check_nickname
from auth.domain.sessions import Reason
from auth.parts import Parts
from auth.players import Player
from shared import http
from shared.addresses import client_of, parse_address
from shared.contracts.auth import Jwks, Profile
from shared.errors import Unauthorized

OPENAPI_URL = "/v1/auth/openapi.json"
JWKS_MAX_AGE_S = 300


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a bearer token whose session is active."""

    player: Player
    session_id: UUID


def create_app(parts: Parts) -> FastAPI:
    """Return the app; ``parts`` reach the routes through its state."""
    app = http.create_app("Samovar auth", openapi_url=OPENAPI_URL)
    app.state.parts = parts
    app.include_router(router)
    return app


def _parts(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts


def _origin(request: Request) -> Origin:
    # The address is the edge's word where the edge is the peer (uvicorn's proxy headers).
    host = request.client.host if request.client else None
    return Origin(client_of(parse_address(host)), request.headers.get("user-agent"))


def _no_store(response: Response) -> None:
    response.headers["Cache-Control"] = "no-store"


P = Annotated[Parts, Depends(_parts)]
From = Annotated[Origin, Depends(_origin)]
Key = Annotated[UUID | None, Header(alias="Idempotency-Key")]
_bearer = HTTPBearer(auto_error=False, bearerFormat="JWT")


async def _caller(
    parts: P, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Caller:
    """Verify the token, then ask the database whether its session still lives."""
    if credentials is None:
        raise Unauthorized
    identity = await parts.tokens.verify(credentials.credentials)
    now = parts.now()
    found = await parts.db.run(lambda tx: usecases.get_active(tx, identity.session_id, now))
    if found.player.id != identity.player_id:
        raise Unauthorized
    return Caller(found.player, found.session.id)


Signed = Annotated[Caller, Depends(_caller)]

router = APIRouter(
    dependencies=[Depends(_no_store)],
    responses={"4XX": {"model": schemas.Problem}, "5XX": {"model": schemas.Problem}},
)


@router.post("/v1/auth/signup", status_code=201)
async def sign_up(body: schemas.SignUp, parts: P, origin: From, key: Key = None) -> schemas.Tokens:
    """Register and sign in; repeat a lost request with the same ``Idempotency-Key`` (a UUID)."""
    granted = await accounts.sign_up(
        parts, origin, email=body.email, password=body.password, nickname=body.nickname, key=key
    )
    return schemas.Tokens.of(granted)


@router.post("/v1/auth/guest", status_code=201)
async def open_guest(
    parts: P, origin: From, body: schemas.Guest | None = None, key: Key = None
) -> schemas.Tokens:
    """Play without an account; ``Idempotency-Key`` as in sign-up."""
    nickname = body.nickname if body is not None else None
    return schemas.Tokens.of(await accounts.open_guest(parts, origin, nickname, key))


@router.post("/v1/auth/login")
async def log_in(body: schemas.LogIn, parts: P, origin: From) -> schemas.Tokens:
    """Open a session."""
    return schemas.Tokens.of(await accounts.log_in(parts, origin, body.email, body.password))


@router.post("/v1/auth/refresh")
async def refresh(body: schemas.Refresh, parts: P, origin: From) -> schemas.Tokens:
    """Exchange a refresh token for a new pair; using an old one again ends the session."""
    return schemas.Tokens.of(await accounts.refresh(parts, origin, body.refresh_token))


@router.post("/v1/auth/logout", status_code=204)
async def log_out(parts: P, caller: Signed) -> None:
    """End the session of the bearer token and close its sockets."""
    await accounts.end_session(parts, caller.session_id, caller.player.id, Reason.LOGOUT)


@router.get("/v1/auth/sessions")
async def list_sessions(parts: P, caller: Signed) -> schemas.Sessions:
    """List the caller's active sessions, the newest first."""
    now = parts.now()
    found = await parts.db.run(lambda tx: session_store.list_sessions(tx, caller.player.id, now))
    return schemas.Sessions(
        sessions=[schemas.SessionInfo.of(session, caller.session_id) for session in found]
    )


@router.delete("/v1/auth/sessions/{session_id}", status_code=204)
async def delete_session(session_id: UUID, parts: P, caller: Signed) -> None:
    """End one of the caller's sessions and close its sockets."""
    if not await accounts.end_session(parts, session_id, caller.player.id, Reason.DELETED):
        raise HTTPException(404, "There is no such session.")


@router.post("/v1/ws/ticket")
async def issue_ticket(parts: P, caller: Signed) -> schemas.Ticket:
    """Issue a single-use ticket for a browser's WebSocket handshake."""
    await parts.limits.ticket(caller.player.id)
    ticket = await parts.tickets.issue(caller.session_id)
    return schemas.Ticket(ticket=ticket, expires_in=parts.tickets.ttl_s)


@router.get("/v1/players/me")
async def get_me(caller: Signed) -> schemas.Me:
    """Return the caller's own profile."""
    return schemas.Me.of(caller.player)


@router.patch("/v1/players/me")
async def change_me(body: schemas.ChangeMe, parts: P, caller: Signed) -> schemas.Me:
    """Change the caller's nickname."""
    nickname = check_nickname(body.nickname)
    return schemas.Me.of(
        await parts.db.run(lambda tx: usecases.rename(tx, caller.player.id, nickname))
    )


@router.get("/v1/players/{player_id}", dependencies=[Depends(_caller)])
async def get_player(player_id: UUID, parts: P) -> Profile:
    """Return what everybody may see of a player."""
    profile = await parts.db.run(lambda tx: usecases.get_profile(tx, player_id))
    if profile is None:
        raise HTTPException(404, "There is no such player.")
    return profile


@router.get("/.well-known/jwks.json")
async def get_jwks(parts: P, response: Response) -> Jwks:
    """Return the public keys of access tokens (RFC 7517)."""
    response.headers["Cache-Control"] = f"public, max-age={JWKS_MAX_AGE_S}"
    return parts.keys.jwks
