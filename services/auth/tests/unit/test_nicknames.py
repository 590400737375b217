import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth.domain.nicknames import BOT_NAMES, check_nickname, guest_name
from shared.errors import InvalidRequest


@pytest.mark.parametrize(
    ("given_name", "stored"),
    [
        ("Bo", "Bo"),
        ("  Anna  ", "Anna"),
        ("Anna   Maria", "Anna Maria"),
        ("Анна-Мария", "Анна-Мария"),
        ("e\u0301va", "éva"),
        ("x" * 24, "x" * 24),
        ("😀😀", "😀😀"),
    ],
)
def test_a_nickname_is_stored_as_it_is_shown(given_name: str, stored: str) -> None:
    assert check_nickname(given_name) == stored


@pytest.mark.parametrize(
    "nickname",
    [
        "", "a", "   ", "a ", "x" * 25, "a\u0301", "ab\n cd", "ab\x00", "a\u200bb", "a\u202eb",
        "\ufeffab", "\u3164\u3164", "ab\u00a0cd", "ab\ud800", "a" + "\u0301" * 60 + "b",
        "\u2800\u2800\u2800",
    ],
)  # fmt: skip
def test_what_cannot_be_seen_or_misleads_is_refused(nickname: str) -> None:
    with pytest.raises(InvalidRequest):
        check_nickname(nickname)


@given(st.text(max_size=60))
def test_an_accepted_nickname_is_accepted_again_unchanged(nickname: str) -> None:
    try:
        stored = check_nickname(nickname)
    except InvalidRequest:
        return

    assert check_nickname(stored) == stored
    assert 2 <= len(stored) <= 48


def test_sixteen_bots_have_different_names_that_players_could_have() -> None:
    assert len(set(BOT_NAMES)) == 16
    assert [check_nickname(name) for name in BOT_NAMES] == list(BOT_NAMES)


def test_a_guest_without_a_name_gets_one() -> None:
    assert guest_name(42) == "Guest 0042"
    assert check_nickname(guest_name(10_001)) == "Guest 0001"
