"""What happens to accounts and sessions: one transaction each.

Ids, tokens and hashes are made by the caller, so that a transaction that is run again after a lost
COMMIT finds its own rows and changes nothing more.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from auth import session_store, store
from auth.domain import sessions
from auth.domain.nicknames import BOT_NAMES
from auth.domain.sessions import Lifetimes, Reason, RefreshToken, Session, State, Verdict
from auth.players import Player
from auth.session_store import SignedIn
from auth.store import NewPlayer
from shared.contracts.auth import PlayerKind, Profile
from shared.db import Tx
from shared.errors import (
    EmailTaken,
    IdempotencyMismatch,
    InvariantBrokenError,
    SessionRevoked,
    TokenExpired,
    Unauthorized,
)
from shared.ids import bot_id


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A caller's key and the fingerprint of what he asked for; no secrets in either."""

    hash: bytes
    fingerprint: bytes


@dataclass(frozen=True, slots=True)
class Reused:
    """A stolen refresh token was presented; its session has been revoked just now."""

    session_id: UUID


async def open_account(
    tx: Tx, player: NewPlayer, session: Session, token: RefreshToken, key: IdempotencyKey | None
) -> SignedIn:
    """Create a player and sign him in.

    If the key was used before, nothing changes and the session of that first use is returned.

    Raises:
        EmailTaken: if another player has the e-mail.
        IdempotencyMismatch: if the key was used for something else.
    """
    if key is not None:
        first = await store.claim_key(tx, key.hash, key.fingerprint, session.id, player.created_at)
        if first.fingerprint != key.fingerprint:
            raise IdempotencyMismatch
        if first.session_id != session.id:
            return await _existing(tx, first.session_id)
    if not await store.insert_player(tx, player):
        raise EmailTaken
    await session_store.insert_session(tx, session)
    await session_store.insert_refresh_token(tx, token)
    return await _existing(tx, session.id)


async def open_session(tx: Tx, session: Session, token: RefreshToken) -> SignedIn:
    """Sign a player in whose password was right. Idempotent by the session's id."""
    await session_store.insert_session(tx, session)
    await session_store.insert_refresh_token(tx, token)
    return await _existing(tx, session.id)


async def add_refresh_token(
    tx: Tx, session_id: UUID, token_hash: bytes, now: datetime, life: Lifetimes
) -> SignedIn:
    """Give an active session one more refresh token (the reply with the first one was lost).

    Raises:
        SessionRevoked, TokenExpired: if the session has ended.
    """
    found = await get_active(tx, session_id, now)
    token = sessions.issue_refresh_token(token_hash, found.session, now, life)
    await session_store.insert_refresh_token(tx, token)
    return found


async def refresh(
    tx: Tx, presented: bytes, next_hash: bytes, now: datetime, life: Lifetimes
) -> SignedIn | Reused:
    """Replace a refresh token by the next one, or revoke the session if the token was stolen.

    Idempotent within the grace: a second run replaces the token once more.

    Raises:
        Unauthorized: if there is no such token.
        SessionRevoked, TokenExpired: if the token or its session has ended.
    """
    found = await session_store.lock_refresh_token(tx, presented)
    if found is None:
        raise Unauthorized
    token, signed_in = found
    session = signed_in.session
    verdict = sessions.judge(token, session, now, life)
    if verdict is Verdict.REVOKED:
        raise SessionRevoked
    if verdict is Verdict.EXPIRED:
        raise TokenExpired
    if verdict is Verdict.REUSED:
        await session_store.revoke_session(tx, session.id, session.player_id, Reason.REUSED, now)
        return Reused(session.id)
    await session_store.touch_session(tx, session.id, now)
    await session_store.replace_refresh_token(tx, presented, now)
    next_token = sessions.issue_refresh_token(next_hash, session, now, life)
    await session_store.insert_refresh_token(tx, next_token)
    return signed_in


async def get_active(tx: Tx, session_id: UUID, now: datetime) -> SignedIn:
    """Return a session that still speaks for its player.

    Raises:
        Unauthorized: if there is no such session.
        SessionRevoked, TokenExpired: if it has ended.
    """
    found = await session_store.find_session(tx, session_id)
    if found is None:
        raise Unauthorized
    state = sessions.state_of(found.session, now)
    if state is State.REVOKED:
        raise SessionRevoked
    if state is State.EXPIRED:
        raise TokenExpired
    return found


async def rename(tx: Tx, player_id: UUID, nickname: str) -> Player:
    """Give a player another nickname; idempotent."""
    await store.set_nickname(tx, player_id, nickname)
    player = await store.find_player(tx, player_id)
    if player is None:
        raise Unauthorized
    return player


async def ensure_bots(tx: Tx, now: datetime) -> None:
    """Create the bot accounts that are missing; idempotent by their fixed ids."""
    for number, name in enumerate(BOT_NAMES):
        await store.insert_player(tx, NewPlayer(bot_id(number), PlayerKind.BOT, name, now))


async def get_profile(tx: Tx, player_id: UUID) -> Profile | None:
    """Return what everybody may see of a player."""
    player = await store.find_player(tx, player_id)
    return None if player is None else player.profile


async def _existing(tx: Tx, session_id: UUID) -> SignedIn:
    found = await session_store.find_session(tx, session_id)
    if found is None:
        raise InvariantBrokenError("a session is there after its insert, and as long as its key")
    return found
