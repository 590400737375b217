"""Secrets of one installation: made at the first start, kept with mode 0600, never logged."""

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from shared.contracts.walls import WALLS

SCHEMAS: Final = ("auth", "lobby", "engine", "economy", "realtime")
_NAMES: Final = (
    "postgres.admin",
    *(f"postgres.{schema}_{kind}" for schema in SCHEMAS for kind in ("owner", "runtime")),
    *(f"nats.{user}" for user in WALLS),
    "nats.system",
    "valkey",
)


@dataclass(frozen=True, slots=True, repr=False)
class Credentials:
    """Passwords by name (``postgres.economy_runtime``, ``nats.auth``) and the signing key file."""

    passwords: dict[str, str]
    signing_keys_file: Path

    def __getitem__(self, name: str) -> str:
        return self.passwords[name]

    def of(self, server: str) -> dict[str, str]:
        """Return the passwords of one server by user (``postgres``: by role)."""
        return {
            name.partition(".")[2]: password
            for name, password in self.passwords.items()
            if name.startswith(f"{server}.")
        }


def load_or_create(directory: Path) -> Credentials:
    """Read the secrets of an installation; make those that do not exist yet."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)
    store = directory / "passwords.json"
    stored: dict[str, str] = json.loads(store.read_text()) if store.exists() else {}
    passwords = {name: stored.get(name) or secrets.token_urlsafe(24) for name in _NAMES}
    if passwords != stored:
        write_private(store, json.dumps(passwords, indent=2) + "\n")
    signing_keys = directory / "signing-keys.pem"
    if not signing_keys.exists():
        write_private(signing_keys, _new_signing_key())
    return Credentials(passwords, signing_keys)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read; readers see the old or the new one, whole."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _new_signing_key() -> str:
    key = Ed25519PrivateKey.generate()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
