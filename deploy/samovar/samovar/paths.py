"""Where things lie: the project, its data, the text files of ``deploy/`` and the migrations."""

import os
from pathlib import Path


def project_root() -> Path:
    """Return the repository root (``SAMOVAR_ROOT`` where the package is installed elsewhere)."""
    configured = os.environ.get("SAMOVAR_ROOT")
    return Path(configured).resolve() if configured else Path(__file__).resolve().parents[3]


def home() -> Path:
    """Return the directory of all data, logs and secrets (``SAMOVAR_HOME``, else ``.samovar``)."""
    configured = os.environ.get("SAMOVAR_HOME")
    return Path(configured).resolve() if configured else project_root() / ".samovar"


def deploy_file(*parts: str) -> Path:
    """Return a file below ``deploy/``."""
    return project_root().joinpath("deploy", *parts)


def migrations_of(service_directory: str) -> Path | None:
    """Return a service's Alembic folder, or None if the service has no tables.

    Images keep all of them in one folder, ``SAMOVAR_MIGRATIONS_DIR/<service directory>``.
    """
    configured = os.environ.get("SAMOVAR_MIGRATIONS_DIR")
    folder = (
        Path(configured) / service_directory
        if configured
        else project_root() / "services" / service_directory / "migrations"
    )
    return folder if (folder / "env.py").is_file() else None
