"""Signing up, logging in, refreshing, ending: what happens around the transactions.

Hashing needs a tenth of a second and so never happens inside a transaction; pushes are sent after
the commit, and repeated by ``jobs`` in case this process dies in between.
"""

import hashlib
import json
import secrets
from dataclasses import dataclass, field
from uuid import UUID

import structlog
from prometheus_client import Counter

from auth import emails, session_store, store, usecases
from auth.domain import sessions
from auth.domain.nicknames import check_nickname, guest_name
from auth.domain.passwords import check_password
from auth.domain.sessions import Reason, RefreshToken, Session
from auth.opaque import Opaque, hash_of, new_opaque
from auth.parts import Parts
from auth.players import Player
from auth.session_store import SignedIn
from auth.store import NewPlayer
from auth.usecases import IdempotencyKey, Reused
from shared import failpoints
from shared.bus import Bus
from shared.contracts.auth import SESSION_PUSH, PlayerKind
from shared.errors import (
    IdempotencyMismatch,
    InvalidCredentials,
    InvalidRequest,
    SessionRevoked,
)
from shared.ids import new_id

SIGN_INS = Counter("samovar_auth_sign_ins_total", "Sessions opened", ["how"])
REUSES = Counter("samovar_auth_refresh_reuses_total", "Sessions revoked for a stolen token")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Granted:
    """What a client gets that has signed in or refreshed."""

    player: Player
    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    expires_in_s: int


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request comes from."""

    address: str
    user_agent: str | None


@dataclass(frozen=True, slots=True)
class _Begun:
    """A session that the next transaction opens, and its first refresh token in the clear."""

    session: Session
    token: RefreshToken
    secret: Opaque


async def sign_up(
    parts: Parts, origin: Origin, *, email: str, password: str, nickname: str, key: UUID | None
) -> Granted:
    """Register a player and sign him in.

    With the key of an earlier sign-up with the same content: fresh tokens of the session that it
    opened. The password is compared with the account's own hash, so no fingerprint of it is kept.

    Raises:
        InvalidRequest, EmailTaken, IdempotencyMismatch, SessionRevoked, RateLimited, Unavailable.
    """
    await parts.limits.signup(origin.address)
    address = emails.parse(email)
    name = check_nickname(nickname)
    encoded = await parts.hasher.hash(check_password(password))
    player = NewPlayer(
        new_id(), PlayerKind.REGISTERED, name, parts.now(), address.address, address.key, encoded
    )
    begun = _begin(parts, origin, player.id)
    use = _idempotency("signup", key, [address.key, name])
    opened = await parts.db.run(
        lambda tx: usecases.open_account(tx, player, begun.session, begun.token, use)
    )
    if opened.session.id == begun.session.id:
        SIGN_INS.labels("signup").inc()
        return _grant(parts, opened, begun.secret)
    stored = await parts.db.run(lambda tx: store.password_hash_of(tx, opened.player.id))
    if not await parts.hasher.verify(password, stored):
        raise IdempotencyMismatch
    return await _grant_again(parts, opened.session.id)


async def open_guest(
    parts: Parts, origin: Origin, nickname: str | None, key: UUID | None
) -> Granted:
    """Make a guest and sign him in; a used key works as in ``sign_up``.

    Raises:
        InvalidRequest, IdempotencyMismatch, SessionRevoked, RateLimited, Unavailable.
    """
    await parts.limits.guest(origin.address)
    name = guest_name(secrets.randbelow(10_000)) if nickname is None else check_nickname(nickname)
    player = NewPlayer(new_id(), PlayerKind.GUEST, name, parts.now())
    begun = _begin(parts, origin, player.id)
    use = _idempotency("guest", key, [None if nickname is None else name])
    opened = await parts.db.run(
        lambda tx: usecases.open_account(tx, player, begun.session, begun.token, use)
    )
    if opened.session.id != begun.session.id:
        return await _grant_again(parts, opened.session.id)
    SIGN_INS.labels("guest").inc()
    return _grant(parts, opened, begun.secret)


async def log_in(parts: Parts, origin: Origin, email: str, password: str) -> Granted:
    """Open a session for an e-mail and its password; the same work whether it exists or not.

    Raises:
        InvalidCredentials, RateLimited, Unavailable.
    """
    await parts.limits.login(origin.address)
    try:
        email_key = emails.parse(email).key
    except InvalidRequest as error:
        raise InvalidCredentials from error  # nobody has such an address, which is no secret
    await parts.limits.login_to(email_key, origin.address)
    found = await parts.db.run(lambda tx: store.find_credentials(tx, email_key))
    player_id, encoded = found or (None, None)
    fits = await parts.hasher.verify(password, encoded)
    if player_id is None or encoded is None or not fits:
        raise InvalidCredentials
    if parts.hasher.is_outdated(encoded):
        fresh = await parts.hasher.hash(password)
        await parts.db.run(lambda tx: store.replace_password_hash(tx, player_id, encoded, fresh))
    begun = _begin(parts, origin, player_id)
    opened = await parts.db.run(lambda tx: usecases.open_session(tx, begun.session, begun.token))
    SIGN_INS.labels("login").inc()
    return _grant(parts, opened, begun.secret)


async def refresh(parts: Parts, origin: Origin, refresh_token: str) -> Granted:
    """Replace a refresh token; one that was replaced before the grace ends its session.

    Raises:
        Unauthorized, SessionRevoked, TokenExpired, RateLimited, Unavailable.
    """
    await parts.limits.refresh(origin.address)
    secret, now = new_opaque(), parts.now()
    outcome = await parts.db.run(
        lambda tx: usecases.refresh(tx, hash_of(refresh_token), secret.hash, now, parts.life)
    )
    if isinstance(outcome, Reused):
        REUSES.inc()
        log.warning("refresh token reused", session_id=str(outcome.session_id))
        await announce(parts.bus, outcome.session_id)
        raise SessionRevoked
    return _grant(parts, outcome, secret)


async def end_session(parts: Parts, session_id: UUID, player_id: UUID, reason: Reason) -> bool:
    """Revoke a session of this player and close its sockets; False if he has no such session.

    Idempotent: an ended session stays as it is and is announced again.
    """
    now = parts.now()
    exists = await parts.db.run(
        lambda tx: session_store.revoke_session(tx, session_id, player_id, reason, now)
    )
    failpoints.hit("auth.session_revoked")
    if exists:
        await announce(parts.bus, session_id)
    return exists


async def announce(bus: Bus, session_id: UUID) -> None:
    """Tell the gateways that a session has ended; they need no more than its id."""
    await bus.push(SESSION_PUSH, session_id, b"{}")


def _begin(parts: Parts, origin: Origin, player_id: UUID) -> _Begun:
    now = parts.now()
    session = sessions.open_session(new_id(), player_id, origin.user_agent, now, parts.life)
    secret = new_opaque()
    token = sessions.issue_refresh_token(secret.hash, session, now, parts.life)
    return _Begun(session, token, secret)


def _grant(parts: Parts, signed_in: SignedIn, secret: Opaque) -> Granted:
    access_token, expires_in_s = parts.tokens.issue(signed_in, parts.now())
    return Granted(signed_in.player, access_token, secret.text, expires_in_s)


async def _grant_again(parts: Parts, session_id: UUID) -> Granted:
    secret, now = new_opaque(), parts.now()
    signed_in = await parts.db.run(
        lambda tx: usecases.add_refresh_token(tx, session_id, secret.hash, now, parts.life)
    )
    return _grant(parts, signed_in, secret)


def _idempotency(scope: str, key: UUID | None, content: list[str | None]) -> IdempotencyKey | None:
    """Return the hashes of a key and of what is asked with it.

    The key itself is not stored: who knows a guest's key could sign in as that guest.
    """
    if key is None:
        return None
    fingerprint = hashlib.sha256(json.dumps([scope, *content]).encode()).digest()
    return IdempotencyKey(hash_of(f"{scope}:{key}"), fingerprint)
