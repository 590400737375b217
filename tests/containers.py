"""The servers as containers of the official images, where a Docker engine answers."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from testcontainers.core.container import DockerContainer
from testcontainers.core.waiting_utils import wait_for_logs

from samovar import credentials
from samovar.addresses import Addresses
from samovar.embedded.postgres import ADMIN
from samovar.nats_config import NatsOptions, render

POSTGRES_IMAGE = "postgres:18"
NATS_IMAGE = "nats:2.15-alpine"
VALKEY_IMAGE = "valkey/valkey:9-alpine"


def docker_answers() -> bool:
    """Tell whether a Docker engine can be used."""
    place = urlsplit(os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock"))
    is_local = place.scheme == "unix"
    with socket.socket(socket.AF_UNIX if is_local else socket.AF_INET) as engine:
        engine.settimeout(3)
        try:
            engine.connect(place.path if is_local else (place.hostname, place.port or 2375))
            engine.sendall(b"GET /_ping HTTP/1.0\r\nHost: docker\r\n\r\n")
            return b" 200 " in engine.recv(64)
        except OSError:
            return False


@contextlib.contextmanager
def container_infra(root: Path) -> Iterator[Addresses]:
    """Start the three servers; bootstrap and migrate them."""
    secrets = credentials.load_or_create(root / "secrets")
    config = root / "nats.conf"
    # The image's user is not ours and must be able to read it; the directory is ours alone.
    config.write_text(
        render(NatsOptions("0.0.0.0", 4222, Path("/data"), fsync=False), secrets.of("nats"))
    )
    postgres = (
        DockerContainer(POSTGRES_IMAGE)
        .with_env("POSTGRES_USER", ADMIN)
        .with_env("POSTGRES_PASSWORD", secrets["postgres.admin"])
        .with_command("postgres -c fsync=off -c full_page_writes=off -c max_connections=200")
        .with_exposed_ports(5432)
    )
    nats = (
        DockerContainer(NATS_IMAGE)
        .with_volume_mapping(str(config), "/etc/nats/samovar.conf", "ro")
        .with_command("--config /etc/nats/samovar.conf")
        .with_exposed_ports(4222)
    )
    valkey = (
        DockerContainer(VALKEY_IMAGE)
        .with_command(f"valkey-server --save '' --requirepass {secrets['valkey']}")
        .with_exposed_ports(6379)
    )
    with contextlib.ExitStack() as stack:
        for container in (postgres, nats, valkey):
            stack.enter_context(container)
        # The image starts PostgreSQL twice; only the second one listens on TCP.
        wait_for_logs(postgres, "listening on IPv4 address", timeout=60)
        wait_for_logs(nats, "Server is ready", timeout=30)
        wait_for_logs(valkey, "Ready to accept connections", timeout=30)
        admin = f"{ADMIN}:{secrets['postgres.admin']}"
        addresses = Addresses(
            root,
            secrets,
            postgres_admin_url=f"postgresql://{admin}@{_place(postgres, 5432)}/postgres",
            nats_url=f"nats://{_place(nats, 4222)}",
            redis_url=f"redis://:{secrets['valkey']}@{_place(valkey, 6379)}/0",
        )
        stack.callback(addresses.stop_services)
        addresses.bootstrap()
        addresses.migrate()
        yield addresses


def _place(container: DockerContainer, port: int) -> str:
    return f"{container.get_container_host_ip()}:{container.get_exposed_port(port)}"
