"""Bodies of the REST interface; the OpenAPI document is made from them.

Lengths here only bound what is looked at; the rules are in ``domain``.
"""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from auth.accounts import Granted
from auth.domain import nicknames, passwords
from auth.domain.sessions import Session
from auth.players import Player
from shared.contracts.auth import PlayerKind, Role

Email = Annotated[str, Field(max_length=300, examples=["player@example.com"])]
Password = Annotated[
    str,
    Field(
        max_length=1024,
        description=f"{passwords.LENGTH_MIN} to {passwords.LENGTH_MAX} characters after NFKC",
    ),
]
Nickname = Annotated[
    str,
    Field(
        max_length=200,
        description=f"{nicknames.VISIBLE_MIN} to {nicknames.LENGTH_MAX} visible characters",
    ),
]


class Body(BaseModel):
    """A request; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SignUp(Body):
    email: Email
    password: Password
    nickname: Nickname


class LogIn(Body):
    email: Email
    password: Password


class Guest(Body):
    nickname: Nickname | None = None


class Refresh(Body):
    refresh_token: Annotated[str, Field(max_length=200)]


class ChangeMe(Body):
    nickname: Nickname


class Me(BaseModel):
    """A player as he sees himself."""

    player_id: UUID
    nickname: str
    kind: PlayerKind
    role: Role
    email: str | None
    created_at: datetime

    @classmethod
    def of(cls, player: Player) -> "Me":
        return cls(
            player_id=player.id,
            nickname=player.nickname,
            kind=player.kind,
            role=player.role,
            email=player.email,
            created_at=player.created_at,
        )


class Tokens(BaseModel):
    """``expires_in`` is in seconds and belongs to the access token."""

    player: Me
    access_token: str
    refresh_token: str
    expires_in: int

    @classmethod
    def of(cls, granted: Granted) -> "Tokens":
        return cls(
            player=Me.of(granted.player),
            access_token=granted.access_token,
            refresh_token=granted.refresh_token,
            expires_in=granted.expires_in_s,
        )


class SessionInfo(BaseModel):
    session_id: UUID
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime
    user_agent: str | None
    is_current: bool

    @classmethod
    def of(cls, session: Session, current: UUID) -> "SessionInfo":
        return cls(
            session_id=session.id,
            created_at=session.created_at,
            last_used_at=session.last_used_at,
            expires_at=session.expires_at,
            user_agent=session.user_agent,
            is_current=session.id == current,
        )


class Sessions(BaseModel):
    sessions: list[SessionInfo]


class Ticket(BaseModel):
    ticket: str
    expires_in: int


class Problem(BaseModel):
    """RFC 9457 problem details; ``code`` is the stable name of the error."""

    type: str
    title: str
    status: int
    code: str
    request_id: str
    details: dict[str, Any] | None = None
