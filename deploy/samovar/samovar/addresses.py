"""Where the servers are and with which secrets: all that services, bootstrap and migrations need.

The servers themselves may be ours (``embedded.stack``), containers, or somebody else's.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from samovar import ports
from samovar.background import run
from samovar.credentials import Credentials
from samovar.embedded.service import ServiceProcess
from samovar.migrate import migrate
from samovar.postgres_roles import DATABASE, create_roles
from samovar.services import SERVICES
from samovar.streams import create_streams

# Settings of ours that a person may give to all services through the environment.
_PASSED_ON: Final = ("SAMOVAR_LOG_LEVEL", "SAMOVAR_OTEL_ENDPOINT", "SAMOVAR_MIGRATIONS_DIR")


class Addresses:
    """Addresses and secrets of one set of servers.

    ``fixed`` is the port table of ``samovar up``; without it every port is a random free one.
    """

    def __init__(
        self,
        root: Path,
        credentials: Credentials,
        *,
        postgres_admin_url: str,
        nats_url: str,
        redis_url: str,
        fixed: Mapping[str, int] | None = None,
    ) -> None:
        self.root = root
        self.credentials = credentials
        self.nats_url = nats_url
        self.redis_url = redis_url
        self._postgres_admin_url = postgres_admin_url
        self._fixed = fixed
        self._services: list[ServiceProcess] = []

    def bootstrap(self) -> None:
        """Create roles, schemas, the stream and its consumers; idempotent."""
        run(create_roles(self._postgres_admin_url, self.credentials.of("postgres")))
        self.create_streams()

    def create_streams(self, timeout_s: float = 20) -> None:
        """Create the stream and its consumers, which NATS keeps; idempotent."""
        run(create_streams(self.nats_url, self.nats_password("bootstrap"), timeout_s))

    def migrate(self) -> list[str]:
        """Bring every schema to its newest migration; return the services that have some."""
        return migrate(self.owner_url)

    def nats_password(self, user: str) -> str:
        """Return the password of a NATS user of the walls."""
        return self.credentials[f"nats.{user}"]

    def database_url(self, schema: str) -> str:
        """Return the address of the database for a schema's runtime role."""
        return self._role_url(f"{schema}_runtime")

    def owner_url(self, schema: str) -> str:
        """Return the address of the database for a schema's owner, who migrates."""
        return self._role_url(f"{schema}_owner")

    @property
    def admin_url(self) -> str:
        """Address of the database ``samovar`` for the superuser."""
        return self._postgres_admin_url.rpartition("/")[0] + f"/{DATABASE}"

    def _role_url(self, role: str) -> str:
        place = urlsplit(self._postgres_admin_url).netloc.rpartition("@")[2]
        password = quote(self.credentials[f"postgres.{role}"], safe="")
        return f"postgresql://{role}:{password}@{place}/{DATABASE}"

    def service_env(
        self, service: str, instance: int = 1, **overrides: str | int | float
    ) -> dict[str, str]:
        """Return the whole environment of one replica.

        Args:
            service: Package name, such as ``game_engine``.
            instance: Number of the replica. The first one of ``samovar up`` has the ports of the
                table, every other one random ports.
            overrides: Settings by name, without the prefix: ``SWEEP_INTERVAL_S=0.5``. A name with
                the prefix is taken too.
        """
        known = SERVICES[service]
        settings: dict[str, object] = {
            "INSTANCE": instance,
            "NATS_URL": self.nats_url,
            "NATS_USER": service,
            "NATS_PASSWORD": self.nats_password(service),
            "REDIS_URL": self.redis_url,
            "HEALTH_PORT": self._service_port(f"{service}.health", instance),
            "HTTP_HOST": ports.LOOPBACK,
            "DRAIN_TIMEOUT_S": 4,
        }
        for role, setting in known.ports.items():
            settings[setting] = self._service_port(f"{service}.{role}", instance)
        if known.schema is not None:
            settings["DATABASE_URL"] = self.database_url(known.schema)
        if service == "auth":
            settings["SIGNING_KEYS_FILE"] = self.credentials.signing_keys_file
        if service == "realtime" and self._fixed is not None:
            edge = self._fixed["edge"]
            settings["PUBLIC_ORIGINS"] = f"http://127.0.0.1:{edge},http://localhost:{edge}"
        settings.update({name.removeprefix("SAMOVAR_"): v for name, v in overrides.items()})
        ours = {f"SAMOVAR_{name}": str(value) for name, value in settings.items()}
        return _foreign_environment() | ours

    def service(
        self, service: str, instance: int = 1, **overrides: str | int | float
    ) -> ServiceProcess:
        """Return one replica of a service, not started; ``stop_services`` will stop it too."""
        env = self.service_env(service, instance, **overrides)
        settings = {"health": "HEALTH_PORT", **SERVICES[service].ports}
        name = service if instance == 1 else f"{service}-{instance}"
        child = ServiceProcess(
            name,
            service,
            self.log(name),
            {f"{service}.{role}": int(env[f"SAMOVAR_{s}"]) for role, s in settings.items()},
            env,
        )
        self._services.append(child)
        return child

    def stop_services(self, timeout_s: float = 5.0) -> None:
        """Stop every replica made by ``service``, the last one first."""
        for child in reversed(self._services):
            child.stop(timeout_s)
        self._services.clear()

    def log(self, name: str) -> Path:
        """Return the log file of a child."""
        return self.root / "logs" / f"{name}.log"

    def _service_port(self, name: str, instance: int) -> int:
        if self._fixed is not None and instance == 1:
            return self._fixed[name]
        return ports.free_port()


def _foreign_environment() -> dict[str, str]:
    """Return our environment without settings of ours, which belong to another process."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("SAMOVAR_") or name in _PASSED_ON
    }
