"""argon2id in a bounded pool of threads: the loop never waits, memory and queue have a limit."""

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from auth.domain.passwords import Argon2Parameters, normalise
from shared.errors import Unavailable

T = TypeVar("T")


class Hasher:
    """Hashes and verifies passwords; ``threads`` times ``memory_kib`` is the most memory used."""

    def __init__(self, parameters: Argon2Parameters, *, threads: int, queue: int) -> None:
        self._argon2 = PasswordHasher(
            time_cost=parameters.time_cost,
            memory_cost=parameters.memory_kib,
            parallelism=parameters.parallelism,
        )
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="argon2")
        self._accepted = 0
        self._accepted_max = threads + queue
        # Verified when there is no account, so that both answers take the same work.
        self._decoy = self._argon2.hash(secrets.token_urlsafe(16))

    async def hash(self, password: str) -> str:
        """Return the encoded argon2id hash.

        Raises:
            Unavailable: if the queue is full.
        """
        return await self._run(lambda: self._argon2.hash(normalise(password)))

    async def verify(self, password: str, encoded: str | None) -> bool:
        """Tell whether the password fits; without a hash the same work, and False.

        Raises:
            Unavailable: if the queue is full.
        """
        fits = await self._run(lambda: self._verify(password, encoded or self._decoy))
        return fits and encoded is not None

    def is_outdated(self, encoded: str) -> bool:
        """Tell whether a hash was made with other parameters than today's."""
        return self._argon2.check_needs_rehash(encoded)

    def close(self) -> None:
        """Drop what waits; a hash that runs ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _verify(self, password: str, encoded: str) -> bool:
        try:
            return self._argon2.verify(encoded, normalise(password))
        except (VerificationError, InvalidHashError, UnicodeEncodeError):
            return False

    async def _run(self, work: Callable[[], T]) -> T:
        if self._accepted >= self._accepted_max:
            raise Unavailable
        self._accepted += 1
        try:
            # A caller that goes away cancels its work if it has not begun.
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self._accepted -= 1
