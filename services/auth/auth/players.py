"""A player as auth knows one."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from shared.contracts.auth import PlayerKind, Profile, Role


@dataclass(frozen=True, slots=True)
class Player:
    """``email`` is there for registered players only, and for their own eyes only."""

    id: UUID
    kind: PlayerKind
    role: Role
    nickname: str
    email: str | None
    created_at: datetime

    @property
    def profile(self) -> Profile:
        """What everybody may see."""
        return Profile(player_id=self.id, nickname=self.nickname, kind=self.kind)
