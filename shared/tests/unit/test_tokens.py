import asyncio
import json
from datetime import UTC, datetime, timedelta
from uuid import UUID

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from shared.contracts.auth import Identity, Role
from shared.errors import TokenExpired, Unauthorized, Unavailable
from shared.tokens import TokenVerifier, sign

NOW = datetime.now(UTC)


def identity(expires_in_s=600):
    return Identity(
        player_id=UUID(int=1),
        session_id=UUID(int=2),
        role=Role.PLAYER,
        expires_at=NOW.replace(microsecond=0) + timedelta(seconds=expires_in_s),
    )


def public(key, key_id):
    jwk = json.loads(jwt.algorithms.OKPAlgorithm.to_jwk(key.public_key()))
    return {**jwk, "kid": key_id, "alg": "EdDSA", "use": "sig"}


class KeyServer:
    def __init__(self, *keys):
        self.keys, self.fetches = keys, 0

    async def fetch(self):
        self.fetches += 1
        return self.keys


@pytest.fixture
def key():
    return Ed25519PrivateKey.generate()


async def test_a_token_names_whom_it_was_signed_for(key):
    server = KeyServer(public(key, "k1"))
    verifier = TokenVerifier(server.fetch, lambda: 0.0)

    token = sign(identity(), key=key, key_id="k1", now=NOW)

    assert await verifier.verify(token) == identity()
    assert await verifier.verify(token) == identity()
    assert server.fetches == 1


async def test_an_expired_token_is_told_apart(key):
    verifier = TokenVerifier(KeyServer(public(key, "k1")).fetch, lambda: 0.0)

    with pytest.raises(TokenExpired):
        await verifier.verify(sign(identity(-1), key=key, key_id="k1", now=NOW))


async def test_audiences_are_never_interchangeable(key):
    verifier = TokenVerifier(KeyServer(public(key, "k1")).fetch, lambda: 0.0)
    token = sign(identity(), key=key, key_id="k1", audience="sub", now=NOW)

    with pytest.raises(Unauthorized):
        await verifier.verify(token)


async def test_a_token_of_another_key_or_algorithm_is_refused(key):
    verifier = TokenVerifier(KeyServer(public(key, "k1")).fetch, lambda: 0.0)
    foreign = sign(identity(), key=Ed25519PrivateKey.generate(), key_id="k1", now=NOW)
    symmetric = jwt.encode(
        {"sub": str(UUID(int=1)), "aud": "api"}, "s" * 32, algorithm="HS256", headers={"kid": "k1"}
    )
    unsigned = jwt.encode({"sub": "1", "aud": "api"}, None, algorithm="none", headers={"kid": "k1"})

    for token in (foreign, symmetric, unsigned, "", "a.b.c", "x" * 5000):
        with pytest.raises(Unauthorized):
            await verifier.verify(token)


async def test_everybody_who_waits_for_keys_shares_one_fetch_and_its_failure(key):
    time, gate, fetches = [0.0], asyncio.Event(), []

    async def fetch():
        fetches.append(1)
        await gate.wait()
        if len(fetches) == 1:
            raise Unavailable
        return (public(key, "k1"),)

    verifier = TokenVerifier(fetch, lambda: time[0])
    token = sign(identity(), key=key, key_id="k1", now=NOW)
    asking = [asyncio.create_task(verifier.verify(token)) for _ in range(30)]
    await asyncio.sleep(0)
    gate.set()
    outcomes = await asyncio.gather(*asking, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {Unavailable}
    with pytest.raises(Unavailable):
        await verifier.verify(token)
    assert len(fetches) == 1

    time[0] = 1.5

    assert await verifier.verify(token) == identity()


async def test_unknown_key_ids_do_not_hammer_the_key_server(key):
    time = [0.0]
    server = KeyServer(public(Ed25519PrivateKey.generate(), "old"))
    verifier = TokenVerifier(server.fetch, lambda: time[0])
    token = sign(identity(), key=key, key_id="new", now=NOW)
    for _ in range(5):
        with pytest.raises(Unauthorized):
            await verifier.verify(token)
    assert server.fetches == 1

    server.keys, time[0] = (public(key, "new"),), 11.0

    assert await verifier.verify(token) == identity()
