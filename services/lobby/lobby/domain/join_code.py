"""Codes that open private rooms: short enough to read out, too many to guess."""

from base64 import b32encode

CODE_BYTES = 10  # 80 random bits, 16 characters


def to_code(random: bytes) -> str:
    """Write random bytes as a code."""
    return b32encode(random).decode()


def normalise(typed: str) -> str:
    """Read a code as people copy it: any case, with spaces or dashes."""
    return "".join(typed.split()).replace("-", "").upper()
