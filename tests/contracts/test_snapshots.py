"""The committed documents are what the code says: a contract change shows up as a diff."""

from pathlib import Path

import pytest

from samovar.docs import documents

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", sorted(documents()))
def test_the_committed_document_is_up_to_date(name):
    assert (DOCS / name).read_text() == documents()[name], "run `make docs`"


def test_no_contract_document_is_left_over():
    committed = {f"contracts/{path.name}" for path in (DOCS / "contracts").glob("*.json")}

    assert committed == {name for name in documents() if name.startswith("contracts/")}
