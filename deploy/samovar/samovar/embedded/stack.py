"""The embedded servers as one thing: started, bootstrapped, migrated, addressed, stopped.

``samovar up`` and the tests use the same class; tests give it a temporary directory, random ports
and, where durability is not the matter, no fsync.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from samovar import credentials, ports
from samovar.addresses import Addresses
from samovar.embedded.caddy import CaddyServer
from samovar.embedded.nats import NatsServer
from samovar.embedded.postgres import PostgresServer
from samovar.embedded.server import Server
from samovar.embedded.valkey import ValkeyServer
from samovar.errors import StackError

_DISK_FREE_MIN_BYTES: Final = 200 * 1024 * 1024


class Infra(Addresses):
    """NATS, PostgreSQL and Valkey as our children. Each can be killed and started by itself."""

    def __init__(
        self, root: Path, *, fixed: Mapping[str, int] | None = None, fsync: bool = True
    ) -> None:
        """``fixed`` is the port table of ``samovar up``; without it ports are random."""
        self.prepare(root)
        secrets = credentials.load_or_create(root / "secrets")

        def port(name: str) -> int:
            return fixed[name] if fixed is not None else ports.free_port()

        def log(name: str) -> Path:
            return root / "logs" / f"{name}.log"

        self.nats = NatsServer(
            root / "nats", log("nats"), port("nats"), secrets.of("nats"), fsync=fsync
        )
        self.postgres = PostgresServer(
            root / "postgres",
            log("postgres"),
            port("postgres"),
            secrets["postgres.admin"],
            fsync=fsync,
        )
        self.valkey = ValkeyServer(
            root / "valkey", log("valkey"), port("valkey"), secrets["valkey"]
        )
        super().__init__(
            root,
            secrets,
            postgres_admin_url=self.postgres.admin_url,
            nats_url=self.nats.url,
            redis_url=self.valkey.url,
            fixed=fixed,
        )

    @staticmethod
    def prepare(root: Path) -> None:
        """Make the data directory.

        Raises:
            StackError: if there is no right to it, or its disk is full.
        """
        try:
            if not root.exists():
                # PostgreSQL's own user must pass through; what is secret has a mode of its own. A
                # directory that was there is somebody's, who chose its mode.
                root.mkdir(parents=True)
                root.chmod(0o711)
            (root / "logs").mkdir(mode=0o700, exist_ok=True)
            free = shutil.disk_usage(root).free
        except OSError as error:
            raise StackError(
                f"cannot use the data directory {root}: {error.strerror}; "
                "SAMOVAR_HOME chooses another one"
            ) from None
        if free < _DISK_FREE_MIN_BYTES:
            raise StackError(
                f"the disk of {root} is full: {free // 2**20} MB are free, "
                f"{_DISK_FREE_MIN_BYTES // 2**20} MB are needed"
            )

    @classmethod
    def start(
        cls, root: Path, *, fixed: Mapping[str, int] | None = None, fsync: bool = True
    ) -> Self:
        """Start the servers and make them ready for services (bootstrap, migrations)."""
        infra = cls(root, fixed=fixed, fsync=fsync)
        infra.start_all()
        return infra

    def start_all(self) -> None:
        """Start the servers, bootstrap, migrate; on failure nothing is left running."""
        try:
            for server in self.servers:
                server.launch()
            for server in self.servers:
                server.wait_ready()
            self.bootstrap()
            self.migrate()
        except BaseException:
            self.stop()
            raise

    @property
    def servers(self) -> tuple[Server, ...]:
        """The servers in the order of starting, the slowest first."""
        return (self.postgres, self.nats, self.valkey)

    def edge(self, upstreams: Mapping[str, int]) -> CaddyServer:
        """Return the edge before the given upstreams, not started and not stopped by ``stop``."""
        port = self._fixed["edge"] if self._fixed is not None else ports.free_port()
        return CaddyServer(self.root / "caddy", self.log("edge"), port, upstreams)

    def stop(self, timeout_s: float = 5.0) -> None:
        """Stop the services started from here, then the servers in reverse order."""
        self.stop_services(timeout_s)
        for server in reversed(self.servers):
            server.stop(timeout_s)
