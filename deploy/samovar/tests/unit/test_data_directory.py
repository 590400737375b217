"""Data directories that cannot be used are refused before anything starts."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from samovar.embedded.stack import Infra
from samovar.errors import StackError


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = SimpleNamespace(free=3 * 2**20)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)

    with pytest.raises(StackError, match=r"disk of .* is full: 3 MB are free, 200 MB are needed"):
        Infra.prepare(tmp_path)


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StackError, match=f"cannot use the data directory {tmp_path}/file/home"):
        Infra.prepare(tmp_path / "file" / "home")
