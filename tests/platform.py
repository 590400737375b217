"""The whole platform for tests: its own servers and the six services as real processes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from samovar.api import Endpoints
from samovar.embedded.caddy import CaddyServer
from samovar.embedded.server import Server
from samovar.embedded.service import ServiceProcess
from samovar.embedded.stack import Infra
from samovar.services import SERVICES

# Intervals a tenth of those in production; limits that a test's few addresses would run into.
SETTINGS: Final[dict[str, str | int | float]] = {
    "SWEEP_INTERVAL_S": 0.5,
    "SIGNUPS_PER_MINUTE": 100_000,
    "LOGINS_PER_MINUTE": 100_000,
    "GUESTS_PER_MINUTE": 100_000,
    "SEATS_PER_MINUTE": 100_000,
    "THINK_MIN_S": 0,
    "THINK_MAX_S": 0,
}


class Platform:
    """Servers, services and edge; any of them can be killed and started again."""

    def __init__(self, infra: Infra) -> None:
        self.infra = infra
        self.services: dict[str, ServiceProcess] = {
            name: infra.service(name, 1, **SETTINGS) for name in SERVICES
        }
        ports = {
            name: port for child in self.services.values() for name, port in child.ports.items()
        }
        self.edge: CaddyServer = infra.edge(ports)

    @property
    def endpoints(self) -> Endpoints:
        return Endpoints.of_edge(f"http://127.0.0.1:{self.edge.port}")

    def start(self) -> None:
        for child in self.services.values():
            child.launch()
        for child in self.services.values():
            child.wait_ready()
        self.edge.start()

    def stop(self) -> None:
        self.edge.stop()
        self.infra.stop_services()

    def child(self, name: str) -> Server:
        """Return a service or a server by its name."""
        return self.services[name] if name in self.services else getattr(self.infra, name)

    def revive(self) -> None:
        """Start whatever does not run, so that one failed test does not fail the next."""
        for child in (*self.infra.servers, *self.services.values()):
            if not child.is_alive():
                child.start()


@contextmanager
def running_platform(root: Path) -> Iterator[Platform]:
    """Start everything; stop everything."""
    infra = Infra.start(root, fsync=False)
    try:
        platform = Platform(infra)
        try:
            platform.start()
            yield platform
        finally:
            platform.stop()
    finally:
        infra.stop()
