"""Replicas of a service, forked from a process that has imported the libraries: up at once.

Each is a process of its own all the same: it runs what ``python -m <service>`` runs, is asked for
readiness at its side port, and dies by signals and failpoints like any other.
"""

import importlib
import multiprocessing
import os
import runpy
import threading
from collections.abc import Mapping
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Final

from samovar import process
from samovar.addresses import Addresses
from samovar.embedded.service import ServiceProcess
from shared import failpoints

_FORKS: Final = multiprocessing.get_context("forkserver")
# Every child imports the main module again, so that pytest belongs here too.
_FORKS.set_forkserver_preload(["pytest", __name__, "shared.lifecycle", "shared.contracts.registry"])


class ForkedService:
    """One replica. ``start`` and ``stop`` may be repeated."""

    def __init__(
        self, infra: Addresses, service: str, instance: int = 1, **overrides: str | int | float
    ) -> None:
        """``overrides`` as in ``Addresses.service_env``."""
        self._service = service
        # Knows ports, log and readiness; never launched itself.
        self._plan: ServiceProcess = infra.service(service, instance, **overrides)
        self._process: ForkServerProcess | None = None

    @property
    def ports(self) -> Mapping[str, int]:
        return self._plan.ports

    @property
    def log(self) -> Path:
        return self._plan.log

    def start(self) -> None:
        """Start and wait until ready."""
        arguments = (self._service, dict(self._plan.env() or {}), self.log)
        self._process = _FORKS.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()

        def is_decided() -> bool:
            return not self.is_alive() or self._plan.is_ready()

        is_ready = process.wait_until(is_decided, self._plan.start_timeout_s) and self.is_alive()
        assert is_ready, "\n".join(process.tail(self.log))

    def is_alive(self) -> bool:
        return self._process is not None and self._process.is_alive()

    def wait_gone(self, timeout_s: float) -> None:
        """Wait until it has ended by itself."""
        assert self._process is not None
        self._process.join(timeout_s)
        assert not self.is_alive(), f"{self._service} still runs"

    def kill(self) -> None:
        """Kill -9; returns when it is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.join()

    def stop(self, timeout_s: float = 10.0) -> None:
        """Stop politely, then by force."""
        if self._process is not None:
            self._process.terminate()
            self._process.join(timeout_s)
            self.kill()


def _serve(service: str, env: Mapping[str, str], log: Path) -> None:
    """Become the service, in the child."""
    threading.Thread(target=_die_with_parent, daemon=True).start()
    with log.open("ab") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    os.environ.clear()
    os.environ.update(env)
    importlib.reload(failpoints)  # it reads the environment when it is imported
    runpy.run_module(service, run_name="__main__")


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
