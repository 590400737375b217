"""What runs, on disk: lets ``down`` and ``status`` find it, and the next ``up`` clean up after us.

A process is known by its pid and its birth mark, so that a number which the system has given to
somebody else is never taken for ours.
"""

import contextlib
import fcntl
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import psutil

from samovar import process
from samovar.credentials import write_private
from samovar.errors import StackError

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


class ProcessMark(msgspec.Struct, frozen=True):
    """One process, unmistakably."""

    pid: int
    birth: str

    def find(self) -> psutil.Process | None:
        """Return the process if it still lives."""
        if birth_mark(self.pid) != self.birth:
            return None
        try:
            found = psutil.Process(self.pid)
        except psutil.Error:
            return None
        return found if process.is_living(found) else None


class ChildState(msgspec.Struct, frozen=True):
    """One row of the status table."""

    name: str
    place: str
    state: str
    restarts: int
    mark: ProcessMark | None


class StackState(msgspec.Struct, frozen=True):
    """All that a running supervisor tells the world."""

    supervisor: ProcessMark
    is_ready: bool
    ports: dict[str, int]
    services: list[str]
    children: list[ChildState]


def birth_mark(pid: int) -> str | None:
    """Return what distinguishes a process from later ones with its number; None if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return f"{_BOOT_ID.read_text().strip()}:{fields[19]}"
    except (OSError, IndexError):
        pass
    try:  # not Linux
        return str(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def mark_of(pid: int) -> ProcessMark | None:
    """Return the mark of a living process."""
    birth = birth_mark(pid)
    return None if birth is None else ProcessMark(pid, birth)


def write(root: Path, state: StackState) -> None:
    """Store the state; readers see the old or the new one, whole."""
    write_private(_file(root), msgspec.json.encode(state).decode())


def read(root: Path) -> StackState | None:
    """Return what the last supervisor wrote, or None if it ended in order (or never ran)."""
    try:
        return msgspec.json.decode(_file(root).read_bytes(), type=StackState)
    except FileNotFoundError:
        return None
    except PermissionError:
        raise StackError(
            f"no right to read {_file(root)}: it belongs to the user who ran 'samovar up'"
        ) from None
    except msgspec.DecodeError:
        raise StackError(
            f"{_file(root)} is damaged: end what still runs by hand, then delete it"
        ) from None


def clear(root: Path) -> None:
    """Forget the state: nothing runs."""
    _file(root).unlink(missing_ok=True)


def _file(root: Path) -> Path:
    return root / "state.json"


@contextlib.contextmanager
def only_one(root: Path) -> Iterator[None]:
    """Hold the right to be the supervisor of a data directory.

    The lock ends with the process, however it ends.

    Raises:
        StackError: naming the supervisor that holds it.
    """
    with (root / "supervisor.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            running = read(root)
            who = f" (pid {running.supervisor.pid})" if running else ""
            raise StackError(
                f"Samovar already runs{who} with the data in {root}: see 'samovar status', "
                "stop it with 'samovar down'"
            ) from None
        yield


def sweep(root: Path, timeout_s: float = 6.0) -> list[str]:
    """End what a killed supervisor left behind; return the names of what was found alive."""
    state = read(root)
    if state is None:
        return []
    found = [
        (child.name, leftover)
        for child in reversed(state.children)
        if child.mark is not None and (leftover := child.mark.find()) is not None
    ]
    family = [each for _, leftover in found for each in process.descendants(leftover.pid)]
    for name, leftover in found:
        with contextlib.suppress(psutil.Error):
            leftover.send_signal(signal.SIGINT if name == "postgres" else signal.SIGTERM)
    everything = [leftover for _, leftover in found] + family
    process.kill_all(process.wait_gone(everything, timeout_s))
    clear(root)
    return [name for name, _ in found]


def own_mark() -> ProcessMark:
    """Return the mark of this process."""
    mark = mark_of(os.getpid())
    assert mark is not None  # we live
    return mark
