"""Opaque secrets (refresh tokens, tickets): random, handed out once, stored as hashes only."""

import hashlib
import secrets
from dataclasses import dataclass, field

RANDOM_BYTES = 32


@dataclass(frozen=True, slots=True)
class Opaque:
    text: str = field(repr=False)
    hash: bytes


def new_opaque() -> Opaque:
    """Return a fresh secret; 256 random bits need no slow hash."""
    text = secrets.token_urlsafe(RANDOM_BYTES)
    return Opaque(text, hash_of(text))


def hash_of(text: str) -> bytes:
    """Return the hash under which a presented secret is looked up; any string has one."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
