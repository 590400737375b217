"""Every port of the stack, in one table; random free ones for tests; who holds a taken one."""

import errno
import os
import random
import socket
from collections.abc import Mapping
from typing import Final

import psutil

from samovar.errors import StackError

LOOPBACK: Final = "127.0.0.1"

# Below 32768, where Linux begins to hand out ports to outgoing connections.
DEFAULT_PORTS: Final[Mapping[str, int]] = {
    "edge": 8640,
    "nats": 18422,
    "postgres": 18432,
    "valkey": 18379,
    "auth.http": 18601,
    "realtime.http": 18602,
    "realtime.ws": 18603,
    "auth.health": 18611,
    "economy.health": 18612,
    "lobby.health": 18613,
    "game_engine.health": 18614,
    "realtime.health": 18615,
    "bot.health": 18616,
}
_RANDOM_RANGE: Final = range(20_000, 30_000)
_given: set[int] = set()


def variable_of(name: str) -> str:
    """Return the environment variable that overrides a port: ``SAMOVAR_PORT_REALTIME_WS``."""
    return "SAMOVAR_PORT_" + name.upper().replace(".", "_")


def fixed_ports(options: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return the table for ``samovar up``: defaults, then the environment, then the options."""
    ports = dict(DEFAULT_PORTS)
    for name in ports:
        if configured := os.environ.get(variable_of(name)):
            ports[name] = _parse(name, configured)
    for name, port in (options or {}).items():
        if name not in ports:
            raise StackError(f"there is no port named '{name}'; known: {', '.join(ports)}")
        ports[name] = port
    for name, port in ports.items():
        twin = next((other for other in ports if other != name and ports[other] == port), None)
        if twin:
            raise StackError(f"port {port} is configured twice: for {name} and for {twin}")
    return ports


def parse_options(texts: list[str]) -> dict[str, int]:
    """Turn ``["edge=9000"]`` into ``{"edge": 9000}``."""
    options: dict[str, int] = {}
    for text in texts:
        name, _, number = text.partition("=")
        options[name] = _parse(name, number)
    return options


def _parse(name: str, text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise StackError(f"'{text}' is not a port number (for {name})")
    return int(text)


def free_port() -> int:
    """Return a random port that nobody uses now and that this process has not given out yet."""
    for _ in range(1000):
        port = random.choice(_RANDOM_RANGE)  # noqa: S311  # not a secret
        if port not in _given and is_free(port):
            _given.add(port)
            return port
    raise StackError("no free port between 20000 and 29999")


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Tell whether a server could listen on the port now."""
    try:
        require_bindable(port, host)
    except OSError:
        return False
    return True


def require_bindable(port: int, host: str) -> None:
    """Bind and let go, as a server would; raises the operating system's own OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        # Two sockets may both bind a port; only one of them may listen.
        probe.listen()


def holder(port: int) -> str:
    """Describe the process that listens on a port, as far as this user may see it."""
    try:
        listening = [
            connection
            for connection in psutil.net_connections(kind="tcp")
            if connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,)
        ]
    except (psutil.AccessDenied, PermissionError):
        listening = []
    for connection in listening:
        if connection.pid is None:
            continue
        try:
            return f"{psutil.Process(connection.pid).name()} (pid {connection.pid})"
        except psutil.Error:
            continue
    return "another process (not visible to this user)"


def check_port(name: str, port: int, host: str = LOOPBACK) -> None:
    """Check that a server could listen on the port.

    Raises:
        StackError: naming the port, who holds it and how to choose another one.
    """
    try:
        require_bindable(port, host)
    except PermissionError:
        raise StackError(
            f"no right to listen on port {port} ({name}): ports below 1024 need privileges; "
            f"set {variable_of(name)} to another port"
        ) from None
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise StackError(f"cannot listen on {host}:{port} ({name}): {error}") from None
        raise StackError(
            f"port {port} ({name}) is taken by {holder(port)}; "
            f"stop it or set {variable_of(name)} to another port"
        ) from None
