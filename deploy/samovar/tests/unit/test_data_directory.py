"""Data directories that cannot be used are refused before anything starts."""

import os
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


def test_a_directory_of_ours_can_be_passed_whatever_the_umask(tmp_path: Path) -> None:
    umask = os.umask(0o077)
    try:
        Infra.prepare(tmp_path / "home")
    finally:
        os.umask(umask)

    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o711
    assert (tmp_path / "home" / "logs").stat().st_mode & 0o777 == 0o700


def test_a_directory_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)

    Infra.prepare(tmp_path)

    assert tmp_path.stat().st_mode & 0o7777 == 0o1777
