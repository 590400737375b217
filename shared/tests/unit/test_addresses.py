import pytest

from shared.addresses import client_of, parse_address


@pytest.mark.parametrize(
    ("host", "subject"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        (None, "unknown"),
        ("not an address", "unknown"),
    ],
)
def test_one_client_is_one_address_or_one_network(host: str | None, subject: str) -> None:
    assert client_of(parse_address(host)) == subject
