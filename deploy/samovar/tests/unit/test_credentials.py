"""Secrets: private files, made once."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from samovar.credentials import load_or_create
from shared.contracts.walls import WALLS


def test_secrets_are_made_once_and_read_again(tmp_path: Path) -> None:
    first = load_or_create(tmp_path / "secrets")
    second = load_or_create(tmp_path / "secrets")

    assert first.passwords == second.passwords
    assert len(set(first.passwords.values())) == len(first.passwords)
    assert min(len(password) for password in first.passwords.values()) >= 32


def test_only_the_owner_may_read_secrets(tmp_path: Path) -> None:
    load_or_create(tmp_path / "secrets")

    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700
    for file in (tmp_path / "secrets").iterdir():
        assert file.stat().st_mode & 0o777 == 0o600


def test_a_secret_that_a_newer_version_needs_is_added(tmp_path: Path) -> None:
    first = load_or_create(tmp_path)
    (tmp_path / "passwords.json").write_text('{"valkey": "kept"}')

    second = load_or_create(tmp_path)

    assert second["valkey"] == "kept"
    assert second.passwords.keys() == first.passwords.keys()


def test_every_user_of_the_walls_has_a_password(tmp_path: Path) -> None:
    assert load_or_create(tmp_path).of("nats").keys() == {*WALLS, "system"}


def test_the_signing_key_is_ed25519(tmp_path: Path) -> None:
    file = load_or_create(tmp_path).signing_keys_file

    assert isinstance(load_pem_private_key(file.read_bytes(), None), Ed25519PrivateKey)


@pytest.mark.parametrize("render", [repr, str])
def test_secrets_do_not_show_when_printed(render: object, tmp_path: Path) -> None:
    credentials = load_or_create(tmp_path)

    assert callable(render)
    assert credentials["valkey"] not in render(credentials)
