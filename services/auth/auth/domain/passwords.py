"""What a password may be, and how expensive its hash is."""

import unicodedata
from dataclasses import dataclass

from shared.errors import InvalidRequest

LENGTH_MIN = 8
LENGTH_MAX = 128


@dataclass(frozen=True, slots=True)
class Argon2Parameters:
    """Cost of argon2id. Defaults: RFC 9106 §4, the second recommended option (low memory)."""

    time_cost: int = 3
    memory_kib: int = 65_536
    parallelism: int = 4


def normalise(password: str) -> str:
    """Return the form that is hashed: NFKC, so that every keyboard makes the same password."""
    return unicodedata.normalize("NFKC", password)


def check_password(password: str) -> str:
    """Return the normalised password of a new account. No rules of composition (NIST 800-63B).

    Raises:
        InvalidRequest: if it is too short, too long, or not encodable text.
    """
    normalised = normalise(password)
    if not LENGTH_MIN <= len(normalised) <= LENGTH_MAX:
        raise InvalidRequest(
            f"A password has {LENGTH_MIN} to {LENGTH_MAX} characters.", fields=["password"]
        )
    if not is_text(normalised):
        raise InvalidRequest("The password is not valid text.", fields=["password"])
    return normalised


def is_text(value: str) -> bool:
    """Tell whether a string has no lone surrogates (JSON can smuggle them in as escapes)."""
    return not any(unicodedata.category(character) == "Cs" for character in value)
