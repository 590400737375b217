"""The objects that entry points and flows share; built once, in ``app``."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from auth.domain.sessions import Lifetimes
from auth.hasher import Hasher
from auth.keys import KeySet
from auth.limits import Limits
from auth.tickets import Tickets
from auth.tokens import AccessTokens
from shared.bus import Bus
from shared.clock import Clock, from_ms
from shared.db import Database


@dataclass(frozen=True, slots=True)
class Parts:
    db: Database
    bus: Bus
    hasher: Hasher
    keys: KeySet
    tokens: AccessTokens
    tickets: Tickets
    limits: Limits
    life: Lifetimes
    retention: timedelta
    idempotency_ttl: timedelta
    clock: Clock

    def now(self) -> datetime:
        """Return the time at which a request is judged."""
        return from_ms(self.clock.now_ms())
