import pytest

from auth import emails
from shared.errors import InvalidRequest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Bob@Example.com", "bob@example.COM"),
        ("  bob@example.com ", "bob@example.com"),
        ("ИВАН@пример.рф", "иван@пример.рф"),
        ("u\u0308@example.com", "Ü@example.com"),
    ],
)
def test_spellings_of_one_address_have_one_key(one: str, other: str) -> None:
    assert emails.parse(one).key == emails.parse(other).key


def test_the_address_keeps_its_own_spelling() -> None:
    assert emails.parse("Bob@Example.com").address == "Bob@example.com"


def test_different_addresses_have_different_keys() -> None:
    assert emails.parse("a.b@example.com").key != emails.parse("ab@example.com").key


@pytest.mark.parametrize(
    "raw",
    ["", "bob", "bob@", "@example.com", "bob@localhost", "a b@example.com", "bob@exa mple.com",
     "bob@example.com\nbcc: x", "b\x00b@example.com", "b\ud800@example.com",
     "a" * 64 + "@" + "b" * 63 + "." + "c" * 63 + "." + "d" * 63 + ".com"],
)  # fmt: skip
def test_what_mail_cannot_reach_is_refused(raw: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        emails.parse(raw)

    assert not raw or raw not in str(refused.value)
