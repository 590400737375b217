"""Sessions and their refresh tokens: how long they live, what a presented token means.

A session is one sign-in on one device. Every refresh replaces its token; a replaced token that
comes again is a lost reply within the grace, and a theft after it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Lifetimes:
    access: timedelta
    refresh: timedelta
    session: timedelta
    grace: timedelta  # a replaced refresh token is taken this much longer


@dataclass(frozen=True, slots=True)
class Session:
    id: UUID
    player_id: UUID
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None
    user_agent: str | None = None


@dataclass(frozen=True, slots=True)
class RefreshToken:
    """A refresh token as it is stored: never the token itself, only its hash."""

    hash: bytes
    session_id: UUID
    issued_at: datetime
    expires_at: datetime
    replaced_at: datetime | None = None


class Reason(StrEnum):
    """Why a session was revoked."""

    LOGOUT = "logout"
    DELETED = "deleted"
    REUSED = "reused"


class State(StrEnum):
    ACTIVE = "active"
    REVOKED = "revoked"
    EXPIRED = "expired"


class Verdict(StrEnum):
    """What a presented refresh token deserves."""

    ROTATE = "rotate"
    REUSED = "reused"
    REVOKED = "revoked"
    EXPIRED = "expired"


def open_session(
    session_id: UUID, player_id: UUID, user_agent: str | None, now: datetime, life: Lifetimes
) -> Session:
    """Return a session that begins now."""
    return Session(
        session_id, player_id, now, now, now + life.session, user_agent=_printable(user_agent)
    )


def issue_refresh_token(
    token_hash: bytes, session: Session, now: datetime, life: Lifetimes
) -> RefreshToken:
    """Return the next token of a session; it never outlives the session."""
    expires_at = min(now + life.refresh, session.expires_at)
    return RefreshToken(token_hash, session.id, now, expires_at)


def access_expires_at(session: Session, now: datetime, life: Lifetimes) -> datetime:
    """Return when an access token that is signed now ends; it never outlives the session."""
    return min(now + life.access, session.expires_at)


def state_of(session: Session, now: datetime) -> State:
    """Return whether the session still speaks for its player."""
    if session.revoked_at is not None:
        return State.REVOKED
    return State.ACTIVE if now < session.expires_at else State.EXPIRED


def judge(token: RefreshToken, session: Session, now: datetime, life: Lifetimes) -> Verdict:
    """Decide about a presented refresh token.

    The grace counts from the first replacement, so repeating does not stretch it.
    """
    state = state_of(session, now)
    if state is State.REVOKED:
        return Verdict.REVOKED
    if state is State.EXPIRED:
        return Verdict.EXPIRED
    if token.replaced_at is not None and now - token.replaced_at > life.grace:
        return Verdict.REUSED
    return Verdict.ROTATE if now < token.expires_at else Verdict.EXPIRED


def _printable(user_agent: str | None) -> str | None:
    if user_agent is None:
        return None
    return "".join(c for c in user_agent if c.isprintable())[:200] or None
