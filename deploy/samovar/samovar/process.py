"""Child processes: born with a log file and a death wish, stopped within a bound."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from samovar.errors import StackError

LOG_SIZE_MAX_BYTES: Final = 10 * 1024 * 1024
_OLDER_SUFFIX: Final = ".1.log"
_PR_SET_PDEATHSIG: Final = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass(frozen=True, slots=True)
class Identity:
    """The operating system user a child runs as."""

    uid: int
    gid: int


def spawn(
    command: list[str],
    log: Path,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    identity: Identity | None = None,
    death_signal: signal.Signals = signal.SIGKILL,
) -> subprocess.Popen[bytes]:
    """Start a child in a session of its own, its output appended to ``log``.

    The own session keeps the terminal's Ctrl-C from it, so that children stop in our order. On
    Linux the child gets ``death_signal`` when we die without having stopped it.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    rotate(log)
    as_user = {"user": identity.uid, "group": identity.gid} if identity else {}
    with log.open("ab") as output:
        try:
            return subprocess.Popen(  # type: ignore[call-overload,no-any-return]  # **as_user
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=None if env is None else dict(env),
                cwd=cwd,
                start_new_session=True,
                extra_groups=[] if identity else None,
                preexec_fn=_death_wish(death_signal),  # noqa: PLW1509  # one system call
                **as_user,
            )
        except FileNotFoundError:
            raise StackError(f"cannot start {command[0]}: there is no such program") from None
        except PermissionError:
            raise StackError(f"no right to run {command[0]}") from None


def _death_wish(death_signal: signal.Signals) -> Callable[[], None] | None:
    """Return what the child runs before exec, after it has become its own user.

    The kernel ties the wish to the thread that forked, so only the main thread may make it: a
    worker thread may end long before the process does.
    """
    if _libc is None or threading.current_thread() is not threading.main_thread():
        return None
    parent = os.getpid()

    def wish() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return wish


def rotate(log: Path) -> None:
    """Empty a log file that has grown too large; keep its end as one older copy.

    Its writers append, so that they need not know; what they write at this very moment is lost. A
    log that cannot be cut is no reason not to run.
    """
    with contextlib.suppress(OSError):
        size_bytes = log.stat().st_size
        if size_bytes <= LOG_SIZE_MAX_BYTES:
            return
        try:
            with log.open("rb") as file, log.with_suffix(_OLDER_SUFFIX).open("wb") as older:
                file.seek(size_bytes - LOG_SIZE_MAX_BYTES)
                older.write(file.read(LOG_SIZE_MAX_BYTES))
        finally:
            os.truncate(log, 0)  # also on a full disk: above all there


def rotate_all(folder: Path) -> None:
    """Do so with every log of a folder."""
    for log in folder.glob("*.log"):
        if not log.name.endswith(_OLDER_SUFFIX):
            rotate(log)


def tail(log: Path, lines: int = 8) -> list[str]:
    """Return the last non-empty lines of a log file."""
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 16_384))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return []
    return [line.rstrip() for line in text.splitlines() if line.strip()][-lines:]


def descendants(pid: int) -> list[psutil.Process]:
    """Return all living descendants of a process."""
    try:
        return list(psutil.Process(pid).children(recursive=True))
    except (psutil.Error, OSError):  # OSError: no file descriptor is left to look with
        return []


def wait_gone(processes: Iterable[psutil.Process], timeout_s: float) -> list[psutil.Process]:
    """Wait until processes are gone; return those that still live after ``timeout_s``."""
    alive = [process for process in processes if is_living(process)]
    wait_until(lambda: not any(is_living(process) for process in alive), timeout_s)
    return [process for process in alive if is_living(process)]


def is_living(process: psutil.Process) -> bool:
    """Tell whether a process runs; a zombie, which only waits for its parent, does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
    except OSError:  # no file descriptor is left to look with
        return True


def kill_all(processes: Sequence[psutil.Process]) -> None:
    """Kill what still lives and wait until the system has ended it."""
    for process in processes:
        with contextlib.suppress(psutil.Error, OSError):
            process.kill()
    wait_gone(processes, 2.0)


def wait_until(condition: Callable[[], bool], timeout_s: float, interval_s: float = 0.02) -> bool:
    """Ask ``condition`` until it holds; false if it did not within ``timeout_s``."""
    deadline = time.monotonic() + timeout_s
    while True:
        if condition():
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(interval_s)
