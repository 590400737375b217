"""What every child of the stack has in common: start, readiness, stop, kill, and clear errors."""

import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import psutil

from samovar import process
from samovar.errors import StackError
from samovar.ports import LOOPBACK, check_port

# What servers of all kinds write when they cannot start, and what it means for a person.
_CAUSES = (
    ("no space left on device", "the disk is full"),
    ("disk quota exceeded", "the disk quota is used up"),
    ("permission denied", "it has no right to a file or directory"),
    ("cannot allocate memory", "there is not enough memory"),
)


class Server(ABC):
    """One child process. Subclasses say how it is prepared, started and asked whether it is ready.

    Invariant: ``running`` is the process last launched; ``None`` before the first launch and after
    ``stop`` or ``kill``.
    """

    start_timeout_s: ClassVar[float] = 30.0
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    death_signal: ClassVar[signal.Signals] = signal.SIGKILL
    orphans_timeout_s: ClassVar[float] = 3.0

    def __init__(self, name: str, log: Path, ports: Mapping[str, int]) -> None:
        """``ports`` maps the names of the port table to the ports this server listens on."""
        self.name = name
        self.log = log
        self.ports = dict(ports)
        self.running: subprocess.Popen[bytes] | None = None

    @property
    def port(self) -> int:
        """The first port: the one that clients use."""
        return next(iter(self.ports.values()))

    @property
    def place(self) -> str:
        """Where it is, for the status table."""
        return f"{LOOPBACK}:{self.port}"

    @abstractmethod
    def command(self) -> list[str]:
        """Return the command line."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Ask once, in the server's own protocol; false if it is not ready yet."""

    def prepare(self) -> None:  # noqa: B027  # some need nothing
        """Write the files the server needs; called before each launch."""

    def env(self) -> Mapping[str, str] | None:
        """Return the child's environment (None: ours)."""
        return None

    def identity(self) -> process.Identity | None:
        """Return the user it must run as (None: ours)."""
        return None

    def launch(self) -> None:
        """Start the process without waiting until it is ready.

        Raises:
            StackError: whatever the cause; nothing was started then.
        """
        for name, port in self.ports.items():
            check_port(name, port)
        try:
            self.prepare()
            self.running = process.spawn(
                self.command(),
                self.log,
                env=self.env(),
                identity=self.identity(),
                death_signal=self.death_signal,
            )
        except (OSError, subprocess.SubprocessError) as error:
            cause = _cause_in(str(error))
            details = f"{cause}: {error}" if cause else str(error)
            raise StackError(f"cannot start {self.name}: {details}") from None

    def wait_ready(self, is_cancelled: Callable[[], bool] = lambda: False) -> None:
        """Wait until the server answers, or the caller has lost interest.

        Raises:
            StackError: naming the cause as its log tells it.
        """

        def is_decided() -> bool:
            return is_cancelled() or not self.is_alive() or self.is_ready()

        if not process.wait_until(is_decided, self.start_timeout_s):
            self.kill()
            limit_s = self.start_timeout_s
            raise StackError(self._explain(f"{self.name} did not answer within {limit_s:.0f} s"))
        if not is_cancelled() and not self.is_alive():
            code = self.running.returncode if self.running else None
            raise StackError(self._explain(f"{self.name} ended while starting (exit code {code})"))

    def start(self) -> None:
        """Start and wait until ready."""
        self.launch()
        self.wait_ready()

    def is_alive(self) -> bool:
        """Tell whether the process runs."""
        return self.running is not None and self.running.poll() is None

    def stop(self, timeout_s: float = 5.0) -> None:
        """Stop politely, then by force; returns when the process and its children are gone."""
        stop_together([self], timeout_s)

    def kill(self) -> None:
        """Kill as a crash would (SIGKILL); returns when the process and its children are gone."""
        if self.running is None:
            return
        # The number of a process that has ended may be another's by now.
        family = process.descendants(self.running.pid) if self.is_alive() else []
        self.running.kill()
        self.running.wait()
        # Orphans of a killed server end by themselves; a new one could not start beside them.
        process.kill_all(process.wait_gone(family, self.orphans_timeout_s))
        self.running = None

    def _explain(self, what: str) -> str:
        lines = process.tail(self.log)
        cause = _cause_in("\n".join(lines))
        if cause is None and lines:
            cause = lines[-1][:300]
        return f"{what}: {cause or 'it wrote nothing'} (log: {self.log})"


def _cause_in(text: str) -> str | None:
    return next((meaning for words, meaning in _CAUSES if words in text.lower()), None)


def stop_together(servers: Sequence[Server], timeout_s: float) -> None:
    """Ask all to stop, wait for all together, kill what is left after ``timeout_s``."""
    deadline = time.monotonic() + timeout_s
    family: list[psutil.Process] = []
    for server in servers:
        if server.running is not None and server.is_alive():
            family += process.descendants(server.running.pid)
            server.running.send_signal(server.stop_signal)
    process.wait_until(
        lambda: not any(server.is_alive() for server in servers), deadline - time.monotonic()
    )
    for server in servers:
        if server.running is not None:
            server.running.kill()  # does nothing if it has ended
            server.running.wait()
            server.running = None
    process.kill_all(process.wait_gone(family, deadline - time.monotonic()))
