"""How often an address, an e-mail or a player may do what is costly or worth guessing."""

import hashlib
from uuid import UUID

from auth.settings import Settings
from shared.ratelimit import Limit, RateLimiter


class Limits:
    """Every method counts one action and raises RateLimited if it is too many."""

    def __init__(self, limiter: RateLimiter, settings: Settings) -> None:
        self._limiter = limiter
        self._signups = _a_minute("signup", settings.signups_per_minute)
        self._logins = _a_minute("login", settings.logins_per_minute)
        self._email_logins = _a_minute("login-email", settings.logins_per_email_per_minute)
        self._email_logins_everywhere = _a_minute(
            "login-email-everywhere", settings.logins_per_email_everywhere_per_minute
        )
        self._guests = _a_minute("guest", settings.guests_per_minute)
        self._refreshes = _a_minute("refresh", settings.refreshes_per_minute)
        self._tickets = _a_minute("ticket", settings.tickets_per_minute)

    async def signup(self, address: str) -> None:
        await self._limiter.check(self._signups, address)

    async def login(self, address: str) -> None:
        await self._limiter.check(self._logins, address)

    async def login_to(self, email_key: str, address: str) -> None:
        # Hashed: an address of a person has no place in Valkey.
        email = hashlib.sha256(email_key.encode()).hexdigest()[:32]
        # In this order: what one address is refused does not count for all of them together.
        await self._limiter.check(self._email_logins, f"{email}:{address}")
        await self._limiter.check(self._email_logins_everywhere, email)

    async def guest(self, address: str) -> None:
        await self._limiter.check(self._guests, address)

    async def refresh(self, address: str) -> None:
        await self._limiter.check(self._refreshes, address)

    async def ticket(self, player_id: UUID) -> None:
        await self._limiter.check(self._tickets, player_id)


def _a_minute(name: str, count: int) -> Limit:
    return Limit(name, count, period_s=60, burst=count)
