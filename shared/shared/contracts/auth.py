"""Messages owned by auth: identities, sessions, profiles."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from pydantic import Field

from shared.contracts.base import Command, Message, Push
from shared.errors import TokenExpired, Unauthorized


class PlayerKind(StrEnum):
    REGISTERED = "registered"
    GUEST = "guest"
    BOT = "bot"


class Role(StrEnum):
    PLAYER = "player"
    GUEST = "guest"
    ADMIN = "admin"


class Empty(Message):
    """A request without content."""


class Identity(Message):
    """Who a connection or a request speaks for."""

    player_id: UUID
    session_id: UUID
    role: Role
    expires_at: datetime


class RedeemTicket(Message):
    ticket: str = Field(max_length=100)


class Jwks(Message):
    keys: tuple[dict[str, Any], ...]


class GetProfiles(Message):
    player_ids: tuple[UUID, ...] = Field(max_length=200)


class Profile(Message):
    player_id: UUID
    nickname: str
    kind: PlayerKind


class Profiles(Message):
    """Profiles found; ids that do not exist are left out."""

    profiles: tuple[Profile, ...]


class ListRevoked(Message):
    since: datetime


class RevokedSessions(Message):
    """Sessions revoked since the asked moment that may still have unexpired access tokens."""

    session_ids: tuple[UUID, ...]
    as_of: datetime


REDEEM_TICKET = Command(
    "auth", "redeem_ticket", RedeemTicket, Identity, (Unauthorized, TokenExpired)
)
GET_JWKS = Command("auth", "get_jwks", Empty, Jwks)
GET_PROFILES = Command("auth", "get_profiles", GetProfiles, Profiles)
LIST_BOTS = Command("auth", "list_bots", Empty, Profiles)
LIST_REVOKED = Command("auth", "list_revoked", ListRevoked, RevokedSessions)

SESSION_PUSH = Push("session", ("auth",))  # key: session id; sent when a session is revoked
