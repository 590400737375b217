"""What a nickname may be, and the names that players get who did not choose one."""

import re
import unicodedata

from shared.errors import InvalidRequest

VISIBLE_MIN = 2
LENGTH_MAX = 24
CODE_POINTS_MAX = 48  # combining marks come on top of the characters, within reason

# Letters and symbols by category that no font shows: Hangul fillers, the empty Braille cell.
_INVISIBLE = frozenset("\u115f\u1160\u2800\u3164\uffa0")

# One name per bot, by number; given names that people of any gender have.
BOT_NAMES = (
    "Alex", "Robin", "Sasha", "Kim", "Charlie", "Mika", "Jamie", "Toni",
    "Noa", "Sam", "Zhenya", "Andrea", "Lou", "Ariel", "Jo", "Valya",
)  # fmt: skip


def check_nickname(nickname: str) -> str:
    """Return the nickname as it is stored and shown: stripped, NFC, single spaces.

    Raises:
        InvalidRequest: if it is not 2 to 24 visible characters, or has control, formatting or
            invisible ones (which would let one player look like another).
    """
    normalised = re.sub(" +", " ", unicodedata.normalize("NFC", nickname).strip())
    letters = [c for c in normalised if not unicodedata.category(c).startswith("M")]
    visible = [c for c in letters if c != " "]
    if (
        len(visible) < VISIBLE_MIN
        or len(letters) > LENGTH_MAX
        or len(normalised) > CODE_POINTS_MAX
        or any(_is_forbidden(c) for c in normalised)
    ):
        raise InvalidRequest(
            f"A nickname has {VISIBLE_MIN} to {LENGTH_MAX} visible characters.",
            fields=["nickname"],
        )
    return normalised


def guest_name(number: int) -> str:
    """Return the name of a guest who gave none."""
    return f"Guest {number % 10_000:04d}"


def _is_forbidden(character: str) -> bool:
    category = unicodedata.category(character)
    is_odd_space = category.startswith("Z") and character != " "
    return category.startswith("C") or is_odd_space or character in _INVISIBLE
