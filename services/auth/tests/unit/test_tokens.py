from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from auth.domain.sessions import Lifetimes, open_session
from auth.keys import KeySet
from auth.players import Player
from auth.session_store import SignedIn
from auth.tokens import AccessTokens
from shared import tokens
from shared.contracts.auth import Identity, PlayerKind, Role
from shared.errors import TokenExpired, Unauthorized
from shared.ids import new_id

LIFE = Lifetimes(
    access=timedelta(minutes=15),
    refresh=timedelta(days=30),
    session=timedelta(days=90),
    grace=timedelta(seconds=10),
)


def key_set(folder: Path, count: int = 1) -> KeySet:
    path = folder / f"{new_id()}.pem"
    path.write_bytes(
        b"\n".join(
            Ed25519PrivateKey.generate().private_bytes(
                Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
            )
            for _ in range(count)
        )
    )
    return KeySet.load(path)


def signed_in(now: datetime) -> SignedIn:
    player = Player(new_id(), PlayerKind.GUEST, Role.GUEST, "Guest", None, now)
    return SignedIn(open_session(new_id(), player.id, None, now, LIFE), player)


async def test_a_token_says_who_which_session_and_which_role(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    who = signed_in(now)
    access = AccessTokens(key_set(tmp_path), LIFE)

    token, expires_in_s = access.issue(who, now)

    identity = await access.verify(token)
    assert (identity.player_id, identity.session_id) == (who.player.id, who.session.id)
    assert identity.role is Role.GUEST
    assert expires_in_s == 900


async def test_tokens_of_a_key_that_no_longer_signs_stay_good(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    keys = key_set(tmp_path, 2)
    before = AccessTokens(KeySet((keys.keys[1],)), LIFE)
    after = AccessTokens(keys, LIFE)

    who = signed_in(now)
    token, _ = before.issue(who, now)

    assert (await after.verify(token)).player_id == who.player.id


async def test_tokens_of_an_unknown_key_are_refused(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    token, _ = AccessTokens(key_set(tmp_path), LIFE).issue(signed_in(now), now)

    with pytest.raises(Unauthorized):
        await AccessTokens(key_set(tmp_path), LIFE).verify(token)


async def test_an_expired_token_is_told_apart(tmp_path: Path) -> None:
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    access = AccessTokens(key_set(tmp_path), LIFE)
    token, _ = access.issue(signed_in(long_ago), long_ago)

    with pytest.raises(TokenExpired):
        await access.verify(token)


async def test_a_token_for_another_audience_is_refused(tmp_path: Path) -> None:
    keys, now = key_set(tmp_path), datetime.now(UTC)
    identity = Identity(
        player_id=new_id(), session_id=new_id(), role=Role.ADMIN,
        expires_at=now + timedelta(minutes=5),
    )  # fmt: skip
    token = tokens.sign(
        identity, key=keys.signing.private, key_id=keys.signing.id, audience="ws", now=now
    )

    with pytest.raises(Unauthorized):
        await AccessTokens(keys, LIFE).verify(token)


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "e30.e30.", "\ud800.a.b"])
async def test_what_is_no_token_is_refused(tmp_path: Path, token: str) -> None:
    with pytest.raises(Unauthorized):
        await AccessTokens(key_set(tmp_path), LIFE).verify(token)
