from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from auth.keys import KeySet, thumbprint


def pem(key: PrivateKeyTypes) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def key_file(folder: Path, *keys: PrivateKeyTypes) -> Path:
    path = folder / "keys.pem"
    path.write_text("# signing keys\n" + "\n".join(pem(key) for key in keys))
    return path


def test_a_key_id_is_the_thumbprint_of_rfc_8037() -> None:
    jwk = {
        "kty": "OKP",
        "crv": "Ed25519",
        "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        "use": "sig",
    }

    assert thumbprint(jwk) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


def test_the_first_key_signs_and_all_are_published(tmp_path: Path) -> None:
    first, second = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()

    keys = KeySet.load(key_file(tmp_path, first, second))

    signing_public = keys.signing.private.public_key().public_bytes_raw()
    assert signing_public == first.public_key().public_bytes_raw()
    assert [jwk["kid"] for jwk in keys.jwks.keys] == [key.id for key in keys.keys]
    assert len(keys.jwks.keys) == 2


def test_only_public_halves_are_published(tmp_path: Path) -> None:
    keys = KeySet.load(key_file(tmp_path, Ed25519PrivateKey.generate()))

    assert set(keys.jwks.keys[0]) == {"kty", "crv", "x", "use", "alg", "kid"}
    assert "SigningKey" not in repr(keys)


def test_a_file_without_keys_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no PEM private key"):
        KeySet.load(key_file(tmp_path))


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not an Ed25519"):
        KeySet.load(key_file(tmp_path, ec.generate_private_key(ec.SECP256R1())))


def test_the_same_key_twice_is_refused(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()

    with pytest.raises(ValueError, match="twice"):
        KeySet.load(key_file(tmp_path, key, key))
