"""SQL of players and idempotency keys, and the purge; ``session_store`` has the sessions.

Locks are taken in this order: idempotency_key, player, session, refresh_token.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping, text

from auth.players import Player
from shared.contracts.auth import PlayerKind, Profile, Role
from shared.db import Tx

PURGE_BATCH = 1000

PLAYER_COLUMNS = """
  player.id as player_id, player.kind, player.role, player.nickname, player.email,
  player.created_at as player_created_at
"""


@dataclass(frozen=True, slots=True)
class NewPlayer:
    id: UUID
    kind: PlayerKind
    nickname: str
    created_at: datetime
    email: str | None = None
    email_key: str | None = None
    password_hash: str | None = None


@dataclass(frozen=True, slots=True)
class FirstUse:
    """What an Idempotency-Key was first used for."""

    fingerprint: bytes
    session_id: UUID


# --- players --------------------------------------------------------------------------------------


async def insert_player(tx: Tx, player: NewPlayer) -> bool:
    """Insert a player; False if the e-mail belongs to another one. Idempotent by id.

    Waits for a parallel insert of the same e-mail to commit or roll back.
    """
    await tx.execute(
        text("""
            insert into player (id, kind, nickname, email, email_key, password_hash, created_at)
            values (:id, :kind, :nickname, :email, :email_key, :password_hash, :created_at)
            on conflict do nothing
        """),
        {
            "id": player.id, "kind": player.kind.value, "nickname": player.nickname,
            "email": player.email, "email_key": player.email_key,
            "password_hash": player.password_hash, "created_at": player.created_at,
        },
    )  # fmt: skip
    return await find_player(tx, player.id) is not None


async def find_player(tx: Tx, player_id: UUID) -> Player | None:
    result = await tx.execute(
        text(f"select {PLAYER_COLUMNS} from player where id = :id"),  # noqa: S608  # constant columns
        {"id": player_id},
    )
    row = result.mappings().one_or_none()
    return None if row is None else to_player(row)


async def find_credentials(tx: Tx, email_key: str) -> tuple[UUID, str] | None:
    """Return the player id and password hash of an e-mail."""
    result = await tx.execute(
        text("select id, password_hash from player where email_key = :key"), {"key": email_key}
    )
    row = result.one_or_none()
    return None if row is None else (row[0], row[1])


async def password_hash_of(tx: Tx, player_id: UUID) -> str | None:
    result = await tx.execute(
        text("select password_hash from player where id = :id"), {"id": player_id}
    )
    value: str | None = result.scalar_one_or_none()
    return value


async def replace_password_hash(tx: Tx, player_id: UUID, old: str, new: str) -> None:
    """Store a hash of the same password unless the password has changed meanwhile."""
    await tx.execute(
        text("update player set password_hash = :new where id = :id and password_hash = :old"),
        {"id": player_id, "old": old, "new": new},
    )


async def set_nickname(tx: Tx, player_id: UUID, nickname: str) -> None:
    await tx.execute(
        text("update player set nickname = :nickname where id = :id"),
        {"id": player_id, "nickname": nickname},
    )


async def find_profiles(tx: Tx, player_ids: Sequence[UUID]) -> tuple[Profile, ...]:
    result = await tx.execute(
        text("select id, nickname, kind from player where id = any(:ids)"),
        {"ids": list(player_ids)},
    )
    return tuple(_profile(row) for row in result.all())


async def list_bots(tx: Tx) -> tuple[Profile, ...]:
    result = await tx.execute(
        text("select id, nickname, kind from player where kind = 'bot' order by id")
    )
    return tuple(_profile(row) for row in result.all())


# --- idempotency keys -----------------------------------------------------------------------------


async def claim_key(
    tx: Tx, key_hash: bytes, fingerprint: bytes, session_id: UUID, now: datetime
) -> FirstUse:
    """Use a key for a session; return its first use, which is this one if the key was new.

    Waits for a parallel transaction that uses the same key.
    """
    await tx.execute(
        text("""
            insert into idempotency_key (hash, fingerprint, session_id, created_at)
            values (:hash, :fingerprint, :session_id, :now)
            on conflict (hash) do nothing
        """),
        {"hash": key_hash, "fingerprint": fingerprint, "session_id": session_id, "now": now},
    )
    result = await tx.execute(
        text("select fingerprint, session_id from idempotency_key where hash = :hash"),
        {"hash": key_hash},
    )
    row = result.one()
    return FirstUse(bytes(row[0]), row[1])


# --- purge ----------------------------------------------------------------------------------------


async def purge_refresh_tokens(tx: Tx, expired_before: datetime) -> int:
    """Delete one batch of expired tokens; return how many."""
    expired = "expires_at < :before order by expires_at"
    return await _purge(tx, "refresh_token", "hash", expired, expired_before)


async def purge_sessions(tx: Tx, expired_before: datetime) -> int:
    """Delete one batch of dead sessions that have no tokens left; return how many.

    No token outlives its session, so the purge of tokens makes way. To delete them together
    would make one statement as long as the sessions were busy.
    """
    expired = """
      expires_at < :before
      and not exists (select from refresh_token where session_id = session.id)
      order by expires_at
    """
    return await _purge(tx, "session", "id", expired, expired_before)


async def purge_keys(tx: Tx, created_before: datetime) -> int:
    """Delete one batch of old idempotency keys; return how many."""
    old = "created_at < :before order by created_at"
    return await _purge(tx, "idempotency_key", "hash", old, created_before)


async def _purge(tx: Tx, table: str, key: str, which: str, before: datetime) -> int:
    result = await tx.execute(
        text(f"""
            delete from {table} where {key} in (
              select {key} from {table} where {which} limit :batch)
        """),  # noqa: S608  # words from the three functions above
        {"before": before, "batch": PURGE_BATCH},
    )
    return result.rowcount


# --- rows to objects ------------------------------------------------------------------------------


def to_player(row: RowMapping) -> Player:
    """Build a player from PLAYER_COLUMNS."""
    return Player(
        id=row["player_id"],
        kind=PlayerKind(row["kind"]),
        role=Role(row["role"]),
        nickname=row["nickname"],
        email=row["email"],
        created_at=row["player_created_at"],
    )


def _profile(row: Any) -> Profile:
    return Profile(player_id=row[0], nickname=row[1], kind=PlayerKind(row[2]))
