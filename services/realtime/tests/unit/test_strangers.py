"""Sockets nobody has authenticated yet, and the address each of them counts for."""

from unittest.mock import sentinel

import pytest

from realtime.strangers import Proxies, Strangers


def test_strangers_are_bounded_by_address_and_in_all() -> None:
    strangers = Strangers(limit=3, limit_per_address=2)
    a, b, c, d = sentinel.a, sentinel.b, sentinel.c, sentinel.d

    assert [strangers.admit(who, "192.0.2.1") for who in (a, b, c)] == [True, True, False]
    assert [strangers.admit(who, "192.0.2.2") for who in (c, d)] == [True, False]
    for _ in range(2):
        strangers.forget(a)

    assert strangers.admit(d, "192.0.2.1")
    assert not strangers.admit(a, "192.0.2.3")


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("192.0.2.7", [], "192.0.2.7"),
        ("192.0.2.7", ["198.51.100.1"], "192.0.2.7"),
        ("127.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", ["6.6.6.6, 198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", ["6.6.6.6", "198.51.100.1"], "198.51.100.1"),
        ("::ffff:127.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.1.2.3", ["198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", ["2001:db8::1:2:3:4"], "2001:db8::/64"),
        ("2001:db8::9", [], "2001:db8::/64"),
        ("127.0.0.1", ["nonsense"], "unknown"),
        (None, [], "unknown"),
    ],
)
def test_only_the_last_hop_that_a_proxy_of_ours_names_counts(
    peer: str | None, forwarded: list[str], client: str
) -> None:
    assert Proxies("127.0.0.1, 10.0.0.0/8").client_of(peer, forwarded) == client


def test_a_star_trusts_everybody_and_nothing_nobody() -> None:
    assert Proxies("*").client_of("192.0.2.7", ["198.51.100.1"]) == "198.51.100.1"
    assert Proxies("").client_of("127.0.0.1", ["198.51.100.1"]) == "127.0.0.1"
