import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth.domain.passwords import check_password, normalise
from shared.errors import InvalidRequest


@pytest.mark.parametrize("password", ["12345678", "a" * 128, "пароль пароль", "        ", "😀" * 8])
def test_any_eight_to_128_characters_are_a_password(password: str) -> None:
    assert check_password(password) == normalise(password)


@pytest.mark.parametrize("password", ["", "1234567", "a" * 129, "a\u0301" * 7])
def test_shorter_and_longer_ones_are_refused(password: str) -> None:
    with pytest.raises(InvalidRequest):
        check_password(password)


def test_length_counts_after_normalisation() -> None:
    assert len(check_password("\ufb03" * 3)) == 9  # the ligature ffi is three letters
    with pytest.raises(InvalidRequest):
        check_password("\ufb03" * 43)


def test_lone_surrogates_are_refused_as_the_callers_mistake() -> None:
    with pytest.raises(InvalidRequest):
        check_password("1234567\ud800")


@given(st.text(min_size=8, max_size=60, alphabet=st.characters(codec="utf-8")))
def test_composed_and_decomposed_spellings_are_one_password(password: str) -> None:
    decomposed = unicodedata.normalize("NFD", password)

    assert normalise(decomposed) == normalise(password)
