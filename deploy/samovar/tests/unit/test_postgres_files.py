"""Which PostgreSQL, as which user, and where."""

import os
import stat
from pathlib import Path

import pytest

from samovar.embedded import postgres_files
from samovar.errors import StackError
from samovar.postgres_roles import scram_verifier
from samovar.process import Identity

STRANGER = Identity(54_321, 54_321)


def test_a_closed_parent_cannot_be_passed_by_another_user(tmp_path: Path) -> None:
    inside = tmp_path / "closed" / "inside"
    inside.mkdir(parents=True)
    (tmp_path / "closed").chmod(0o700)

    assert not postgres_files.can_reach(inside, STRANGER)
    assert postgres_files.can_reach(inside, Identity(os.getuid(), os.getgid()))


def test_open_directories_can_be_reached_by_everybody() -> None:
    assert postgres_files.can_reach(Path("/usr/bin"), STRANGER)
    assert postgres_files.can_reach(Path("/usr/not-made-yet"), STRANGER)


def test_data_go_elsewhere_where_another_user_cannot_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_files, "_DATA", tmp_path / "var")
    tmp_path.chmod(0o700)

    elsewhere = postgres_files.data_directory(tmp_path / "postgres", STRANGER)

    assert elsewhere.is_relative_to(tmp_path / "var")
    assert postgres_files.data_directory(tmp_path / "postgres", None).parent.name == "postgres"


def test_data_that_exist_are_never_replaced_by_empty_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_files, "_DATA", tmp_path / "var")
    monkeypatch.setattr(postgres_files, "can_reach", lambda path, identity: False)
    elsewhere = postgres_files.data_directory(tmp_path / "postgres", STRANGER)
    _make_cluster(elsewhere)
    monkeypatch.setattr(postgres_files, "can_reach", lambda path, identity: True)

    assert postgres_files.data_directory(tmp_path / "postgres", STRANGER) == elsewhere

    _make_cluster(tmp_path / "postgres" / "data")
    monkeypatch.setattr(postgres_files, "can_reach", lambda path, identity: False)
    with pytest.raises(StackError, match=f"cannot reach its data in {tmp_path}/postgres/data"):
        postgres_files.data_directory(tmp_path / "postgres", STRANGER)


def _make_cluster(data: Path) -> None:
    data.mkdir(parents=True)
    (data / "PG_VERSION").touch()


def test_new_folders_can_be_passed_whatever_the_umask(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    umask = os.umask(0o077)
    try:
        postgres_files.make_passable(tmp_path / "samovar" / "postgres-1")
    finally:
        os.umask(umask)

    assert (tmp_path / "samovar").stat().st_mode & 0o777 == 0o711
    assert (tmp_path / "samovar" / "postgres-1").stat().st_mode & 0o777 == 0o711
    assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_a_configured_folder_without_programs_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAMOVAR_POSTGRES_BIN", str(tmp_path))

    with pytest.raises(StackError, match=f"no program 'initdb' in {tmp_path}"):
        postgres_files.locate(tmp_path)


def test_a_missing_postgres_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(postgres_files, "package_directory", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(StackError, match="PostgreSQL is missing"):
        postgres_files.locate(tmp_path)


def test_a_postgres_on_the_path_is_the_fallback(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for program in ("initdb", "postgres"):
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(stat.S_IRWXU)
    monkeypatch.setattr(postgres_files, "package_directory", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert postgres_files.locate(tmp_path).bin == tmp_path


def test_verifiers_are_salted_and_do_not_hold_the_password() -> None:
    first, second = scram_verifier("secret"), scram_verifier("secret")

    assert first.startswith("SCRAM-SHA-256$4096:")
    assert first != second
    assert "secret" not in first
