"""SQL of sessions and refresh tokens; the order of locks is written in ``store``."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import RowMapping, text

from auth.domain.sessions import Reason, RefreshToken, Session
from auth.players import Player
from auth.store import PLAYER_COLUMNS, to_player
from shared.db import Tx

ANNOUNCE_BATCH = 500
SESSIONS_SHOWN = 100

_COLUMNS = """
  session.id as session_id, session.user_agent, session.created_at,
  session.last_used_at, session.expires_at, session.revoked_at
"""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A session and the player it speaks for."""

    session: Session
    player: Player


# --- sessions -------------------------------------------------------------------------------------


async def insert_session(tx: Tx, session: Session) -> None:
    """Insert a session; idempotent by id."""
    await tx.execute(
        text("""
            insert into session (id, player_id, user_agent, created_at, last_used_at, expires_at)
            values (:id, :player_id, :user_agent, :created_at, :last_used_at, :expires_at)
            on conflict (id) do nothing
        """),
        {
            "id": session.id, "player_id": session.player_id, "user_agent": session.user_agent,
            "created_at": session.created_at, "last_used_at": session.last_used_at,
            "expires_at": session.expires_at,
        },
    )  # fmt: skip


async def find_session(tx: Tx, session_id: UUID) -> SignedIn | None:
    result = await tx.execute(
        text(f"""
            select {_COLUMNS}, {PLAYER_COLUMNS}
            from session join player on player.id = session.player_id
            where session.id = :id
        """),  # noqa: S608  # constant columns
        {"id": session_id},
    )
    row = result.mappings().one_or_none()
    return None if row is None else SignedIn(_session(row), to_player(row))


async def list_sessions(tx: Tx, player_id: UUID, now: datetime) -> tuple[Session, ...]:
    """Return the newest sessions of a player that are active."""
    result = await tx.execute(
        text(f"""
            select {_COLUMNS}, session.player_id from session
            where player_id = :player_id and revoked_at is null and expires_at > :now
            order by created_at desc, id desc limit :limit
        """),  # noqa: S608  # constant columns
        {"player_id": player_id, "now": now, "limit": SESSIONS_SHOWN},
    )
    return tuple(_session(row) for row in result.mappings())


async def touch_session(tx: Tx, session_id: UUID, now: datetime) -> None:
    await tx.execute(
        text("update session set last_used_at = :now where id = :id"),
        {"id": session_id, "now": now},
    )


async def revoke_session(
    tx: Tx, session_id: UUID, player_id: UUID, reason: Reason, now: datetime
) -> bool:
    """End a session of this player; False if he has no such session.

    Idempotent: the first time counts.
    """
    await tx.execute(
        text("""
            update session set revoked_at = :now, revoke_reason = :reason
            where id = :id and player_id = :player_id and revoked_at is null
        """),
        {"id": session_id, "player_id": player_id, "reason": reason.value, "now": now},
    )
    result = await tx.execute(
        text("select 1 from session where id = :id and player_id = :player_id"),
        {"id": session_id, "player_id": player_id},
    )
    return result.one_or_none() is not None


async def list_revoked(tx: Tx, since: datetime, now: datetime, limit: int) -> tuple[UUID, ...]:
    """Return sessions revoked since a moment that would otherwise still live, newest first."""
    result = await tx.execute(
        text("""
            select id from session where revoked_at >= :since and expires_at > :now
            order by revoked_at desc limit :limit
        """),
        {"since": since, "now": now, "limit": limit},
    )
    return tuple(result.scalars())


async def list_unannounced(tx: Tx) -> tuple[UUID, ...]:
    result = await tx.execute(
        text("""
            select id from session where revoked_at is not null and announced_at is null
            order by revoked_at limit :limit
        """),
        {"limit": ANNOUNCE_BATCH},
    )
    return tuple(result.scalars())


async def mark_announced(tx: Tx, session_ids: Sequence[UUID], now: datetime) -> None:
    await tx.execute(
        text("update session set announced_at = :now where id = any(:ids)"),
        {"ids": list(session_ids), "now": now},
    )


# --- refresh tokens -------------------------------------------------------------------------------


async def insert_refresh_token(tx: Tx, token: RefreshToken) -> None:
    """Insert a token; idempotent by hash."""
    await tx.execute(
        text("""
            insert into refresh_token (hash, session_id, issued_at, expires_at)
            values (:hash, :session_id, :issued_at, :expires_at)
            on conflict (hash) do nothing
        """),
        {
            "hash": token.hash, "session_id": token.session_id,
            "issued_at": token.issued_at, "expires_at": token.expires_at,
        },
    )  # fmt: skip


async def lock_refresh_token(tx: Tx, token_hash: bytes) -> tuple[RefreshToken, SignedIn] | None:
    """Return a token with its session, both locked: session first, then token."""
    key = {"hash": token_hash}
    locked = await tx.execute(
        text("""
            select id from session
            where id = (select session_id from refresh_token where hash = :hash)
            for no key update
        """),
        key,
    )
    session_id = locked.scalar_one_or_none()
    found = None if session_id is None else await find_session(tx, session_id)
    result = await tx.execute(
        text("""
            select hash, session_id, issued_at, expires_at, replaced_at from refresh_token
            where hash = :hash for no key update
        """),
        key,
    )
    row = result.one_or_none()
    if row is None or found is None:
        return None
    return RefreshToken(bytes(row[0]), row[1], row[2], row[3], row[4]), found


async def replace_refresh_token(tx: Tx, token_hash: bytes, now: datetime) -> None:
    """Mark a token as replaced; the first replacement counts."""
    await tx.execute(
        text("""
            update refresh_token set replaced_at = :now where hash = :hash and replaced_at is null
        """),
        {"hash": token_hash, "now": now},
    )


def _session(row: RowMapping) -> Session:
    return Session(
        id=row["session_id"],
        player_id=row["player_id"],
        created_at=row["created_at"],
        last_used_at=row["last_used_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        user_agent=row["user_agent"],
    )
