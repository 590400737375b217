"""Named places where a test may kill the process, to prove that a crash there loses nothing.

``SAMOVAR_FAILPOINT=name`` kills at the first hit of ``name``, ``name:3`` at the third. Without the
variable every call is a comparison with None.
"""

import os
import signal

_spec = os.environ.get("SAMOVAR_FAILPOINT")
_name, _, _count = (_spec or "").partition(":")
_left = int(_count or 1)


def hit(name: str) -> None:
    """Kill this process with SIGKILL if the environment asks for it at this place."""
    global _left  # noqa: PLW0603  # one counter per process is what the variable means
    if _spec is None or name != _name:
        return
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
