"""Between a connection and its wire: what each needs of the other, and why a socket is closed."""

from dataclasses import dataclass
from typing import Protocol

# Close codes (docs/protocol.md).
ABUSE, UNAUTHENTICATED, SLOW, FLOOD = 4400, 4401, 4408, 4429
NORMAL, BROKEN, UNSUPPORTED, NOT_TEXT, TOO_LARGE = 1000, 1002, 1003, 1007, 1009
INTERNAL = 1011
RESTART = 1012  # come back soon, with the same credentials


class Wire(Protocol):
    """What a connection needs of its socket."""

    def write(self, data: bytes) -> None:
        """Write without waiting; what the system does not take is buffered."""

    def unsent(self) -> int:
        """Return how many bytes are buffered in this process."""

    def close(self, code: int, reason: str) -> None:
        """Send a close frame after what is buffered, and hang up in the end."""

    def ping(self) -> None:
        """Make a living peer answer."""

    def abort(self) -> None:
        """Hang up now."""


@dataclass(frozen=True, slots=True)
class Ticket:
    value: str


@dataclass(frozen=True, slots=True)
class Token:
    """An access token; ``by_frame`` if it came with AUTH, which is answered."""

    value: str
    by_frame: bool


Credentials = Ticket | Token
