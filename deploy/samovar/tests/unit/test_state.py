"""The state file: who runs, without ever taking a stranger for ours."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from samovar import state
from samovar.errors import StackError


def _stack(*children: state.ChildState) -> state.StackState:
    return state.StackState(state.own_mark(), True, {"edge": 1}, [], list(children))


def test_a_living_process_is_found_by_its_mark() -> None:
    mark = state.mark_of(os.getpid())

    assert mark is not None
    found = mark.find()
    assert found is not None
    assert found.pid == os.getpid()


def test_a_process_that_only_has_the_number_is_not_found() -> None:
    assert state.ProcessMark(os.getpid(), "another birth").find() is None


def test_what_is_written_is_read_again_and_private(tmp_path: Path) -> None:
    written = _stack(state.ChildState("nats", "here", "ready", 2, state.own_mark()))

    state.write(tmp_path, written)

    assert state.read(tmp_path) == written
    assert (tmp_path / "state.json").stat().st_mode & 0o777 == 0o600


def test_no_state_means_that_nothing_runs(tmp_path: Path) -> None:
    assert state.read(tmp_path) is None
    assert state.sweep(tmp_path) == []


def test_a_damaged_state_is_explained(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("{")

    with pytest.raises(StackError, match="is damaged"):
        state.read(tmp_path)


def test_a_sweep_ends_leftovers_and_spares_strangers_with_their_numbers(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as leftover:
        mark = state.mark_of(leftover.pid)
        stranger = state.ProcessMark(os.getpid(), "another birth")
        state.write(
            tmp_path,
            _stack(
                state.ChildState("lobby", "", "ready", 0, mark),
                state.ChildState("auth", "", "ready", 0, stranger),
            ),
        )

        assert state.sweep(tmp_path) == ["lobby"]
        assert leftover.wait(5) != 0

    assert state.read(tmp_path) is None


def test_a_second_supervisor_is_refused(tmp_path: Path) -> None:
    state.write(tmp_path, _stack())

    with (
        state.only_one(tmp_path),
        pytest.raises(StackError, match=rf"already runs \(pid {os.getpid()}\)"),
        state.only_one(tmp_path),
    ):
        pass
