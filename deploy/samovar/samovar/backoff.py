"""How long to wait before a crashed child is started again."""

from dataclasses import dataclass
from typing import Final

FIRST_DELAY_S: Final = 0.5
DELAY_MAX_S: Final = 30.0
STABLE_AFTER_S: Final = 60.0


@dataclass(slots=True)
class Backoff:
    """Doubles the delay with each crash; a stable minute makes up for all earlier ones."""

    delay_s: float = FIRST_DELAY_S

    def after_crash(self, ran_s: float) -> float:
        """Return the delay before the next start of a child that ran for ``ran_s``."""
        if ran_s >= STABLE_AFTER_S:
            self.delay_s = FIRST_DELAY_S
        delay_s = self.delay_s
        self.delay_s = min(self.delay_s * 2, DELAY_MAX_S)
        return delay_s
