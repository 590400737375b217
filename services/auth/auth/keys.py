"""The Ed25519 key set: the first key signs, all are published (RFC 7517, RFC 8037)."""

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from shared.contracts.auth import Jwks

_PEM_BLOCK = re.compile(rb"-----BEGIN ([A-Z ]+)-----.+?-----END \1-----", re.DOTALL)


@dataclass(frozen=True, slots=True, repr=False)
class SigningKey:
    private: Ed25519PrivateKey
    id: str
    jwk: dict[str, str]


@dataclass(frozen=True, slots=True, repr=False)
class KeySet:
    """Keys in the order of the file."""

    keys: tuple[SigningKey, ...]

    @classmethod
    def load(cls, path: Path) -> "KeySet":
        """Read a file of PEM private keys.

        Raises:
            ValueError: if it holds no key, or one that is not Ed25519.
        """
        blocks = [match.group() for match in _PEM_BLOCK.finditer(path.read_bytes())]
        keys = tuple(_signing_key(block, path) for block in blocks)
        if not keys:
            raise ValueError(f"no PEM private key in {path}")
        if len({key.id for key in keys}) != len(keys):
            raise ValueError(f"the same key twice in {path}")
        return cls(keys)

    @property
    def signing(self) -> SigningKey:
        """The key of new tokens."""
        return self.keys[0]

    @property
    def jwks(self) -> Jwks:
        """The public halves of all keys."""
        return Jwks(keys=tuple(dict(key.jwk) for key in self.keys))


def thumbprint(jwk: dict[str, str]) -> str:
    """Return the RFC 7638 thumbprint of an OKP key (RFC 8037 §2: crv, kty and x count)."""
    members = {name: jwk[name] for name in ("crv", "kty", "x")}
    canonical = json.dumps(members, separators=(",", ":"), sort_keys=True)
    return _base64url(hashlib.sha256(canonical.encode()).digest())


def _signing_key(pem: bytes, path: Path) -> SigningKey:
    private = load_pem_private_key(pem, password=None)
    if not isinstance(private, Ed25519PrivateKey):
        raise ValueError(f"a key in {path} is not an Ed25519 private key")
    x = _base64url(private.public_key().public_bytes_raw())
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": x, "use": "sig", "alg": "EdDSA"}
    key_id = thumbprint(jwk)
    return SigningKey(private, key_id, {**jwk, "kid": key_id})


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
