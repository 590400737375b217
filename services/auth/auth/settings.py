"""Settings of auth; the common ones are in ``shared.settings``."""

from datetime import timedelta
from pathlib import Path

from pydantic import Field

from auth.domain.passwords import Argon2Parameters
from auth.domain.sessions import Lifetimes
from shared.settings import ServiceSettings

DAY_S = 86_400


class Settings(ServiceSettings):
    signing_keys_file: Path  # PEM, one or more Ed25519 private keys; the first signs

    access_token_ttl_s: int = Field(900, ge=1, le=3600)
    refresh_token_ttl_s: int = Field(30 * DAY_S, ge=1)  # a device unused for longer signs in again
    session_ttl_s: int = Field(90 * DAY_S, ge=1)  # even a used one signs in again after this
    refresh_grace_s: float = Field(10.0, ge=0)
    ticket_ttl_s: int = Field(30, ge=1, le=300)
    idempotency_ttl_s: int = Field(DAY_S, ge=1)
    retention_s: int = Field(7 * DAY_S, ge=0)  # expired sessions are kept this long

    argon2_time_cost: int = Field(3, ge=1)
    argon2_memory_kib: int = Field(65_536, ge=1024)
    argon2_parallelism: int = Field(4, ge=1)
    hash_threads: int = Field(2, ge=1)
    hash_queue: int = Field(64, ge=0)  # more waiting hashes are refused with ERR_UNAVAILABLE

    signups_per_minute: int = Field(10, ge=1)  # per address, like the next four
    logins_per_minute: int = Field(20, ge=1)
    guests_per_minute: int = Field(10, ge=1)
    refreshes_per_minute: int = Field(120, ge=1)
    logins_per_email_per_minute: int = Field(10, ge=1)
    # Loose, because who uses it up locks the owner of the e-mail out: that must take a crowd.
    logins_per_email_everywhere_per_minute: int = Field(300, ge=1)
    tickets_per_minute: int = Field(60, ge=1)  # per player

    @property
    def lifetimes(self) -> Lifetimes:
        """How long tokens and sessions live."""
        return Lifetimes(
            access=timedelta(seconds=self.access_token_ttl_s),
            refresh=timedelta(seconds=self.refresh_token_ttl_s),
            session=timedelta(seconds=self.session_ttl_s),
            grace=timedelta(seconds=self.refresh_grace_s),
        )

    @property
    def argon2(self) -> Argon2Parameters:
        """Cost of new password hashes."""
        return Argon2Parameters(
            self.argon2_time_cost, self.argon2_memory_kib, self.argon2_parallelism
        )
