"""``samovar demo`` against a whole platform."""

import re

import pytest

from samovar.demo import demo
from samovar.errors import StackError
from tests.platform import Platform


def test_the_demo_tells_a_match_and_verifies_the_ledger(
    platform: Platform, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"http://127.0.0.1:{platform.edge.port}"

    demo(url, pace_s=0, ledger_url=platform.infra.database_url("economy"))

    told = capsys.readouterr().out
    assert re.search(r"(Anna|Boris) attacks with \S+[♣♦♥♠]", told)
    assert re.search(r"(Anna|Boris) wins, (Anna|Boris) is left with cards", told)
    assert "of the pool of 200 the house keeps 25" in told
    assert len(re.findall(r"^I[1-9] +ok", told, re.MULTILINE)) == 9
    assert "All is as it should be" in told


def test_a_demo_without_a_platform_says_so() -> None:
    with pytest.raises(StackError, match="nobody answers"):
        demo("http://127.0.0.1:9")
