"""One replica of a service as a child process, asked for readiness at its side port."""

import http.client
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from samovar.embedded.server import Server
from samovar.ports import LOOPBACK


class ServiceProcess(Server):
    """``python -m <service>``."""

    start_timeout_s: ClassVar[float] = 40.0

    def __init__(
        self, name: str, package: str, log: Path, ports: Mapping[str, int], env: Mapping[str, str]
    ) -> None:
        """``ports`` has ``<package>.health`` among others; ``env`` is the whole environment."""
        super().__init__(name, log, ports)
        self._package = package
        self._env = env

    @property
    @override
    def place(self) -> str:
        # What clients use stands first, the side port last.
        return ", ".join(
            f":{port} {name.rpartition('.')[2]}" for name, port in reversed(self.ports.items())
        )

    @override
    def command(self) -> list[str]:
        return [sys.executable, "-m", self._package]

    @override
    def env(self) -> Mapping[str, str]:
        return self._env

    @override
    def is_ready(self) -> bool:
        port = self.ports[f"{self._package}.health"]
        connection = http.client.HTTPConnection(LOOPBACK, port, timeout=1)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
