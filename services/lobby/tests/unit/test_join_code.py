import pytest

from lobby.domain.join_code import CODE_BYTES, normalise, to_code


def test_a_code_has_at_least_80_bits_in_16_letters() -> None:
    assert CODE_BYTES * 8 >= 80
    assert to_code(bytes(CODE_BYTES)) == "A" * 16
    assert to_code(b"\xff" * CODE_BYTES) == "7" * 16


@pytest.mark.parametrize(
    "typed", ["abcdefgh-ijklmnop", " ABCD EFGH IJKL MNOP ", "abcdefghijklmnop"]
)
def test_a_code_is_read_as_people_copy_it(typed: str) -> None:
    assert normalise(typed) == "ABCDEFGHIJKLMNOP"
