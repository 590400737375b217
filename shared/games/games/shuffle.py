"""durak-shuffle-v1: a deck that anybody can recompute from the seed (docs/rules/durak.md).

Exactly uniform, and tied to no language's random module: HMAC-SHA256 in counter mode, bytes
rejected where they would favour a position, Fisher-Yates from the end.
"""

import hashlib
import hmac
from collections.abc import Iterator

from games.cards import DECK_SIZE

SEED_BYTES = 32
_LABEL = b"durak-shuffle-v1\x00"


def commitment(seed: bytes) -> str:
    """Return the hash that is published before the deal; the seed follows after the game."""
    return hashlib.sha256(seed).hexdigest()


def shuffled_deck(seed: bytes) -> bytes:
    """Return the 36 cards, top first; the last one is the face-up trump."""
    deck = bytearray(range(DECK_SIZE))
    stream = _byte_stream(seed)
    for last in range(DECK_SIZE - 1, 0, -1):
        size = last + 1
        unbiased = 256 - 256 % size
        byte = next(stream)
        while byte >= unbiased:
            byte = next(stream)
        chosen = byte % size
        deck[last], deck[chosen] = deck[chosen], deck[last]
    return bytes(deck)


def _byte_stream(seed: bytes) -> Iterator[int]:
    block = 0
    while True:
        yield from hmac.digest(seed, _LABEL + block.to_bytes(4, "big"), "sha256")
        block += 1
