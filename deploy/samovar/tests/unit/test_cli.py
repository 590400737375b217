"""The command line's own promises: help, extensions, one-line errors."""

import contextlib
import os
import pty
import sys
import types
from pathlib import Path

import pytest
import typer

from samovar import cli, state
from samovar.errors import StackError


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["samovar", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def test_an_error_is_one_line_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("SAMOVAR_HOME", str(tmp_path))

    assert _run(monkeypatch, "run", "cashier") == 1

    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("samovar: there is no service cashier; known: auth,")
    assert printed.err.count("\n") == 1


def test_a_full_disk_is_named_whoever_meets_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cli, "app", full)

    assert _run(monkeypatch, "up") == 1
    assert capsys.readouterr().err == "samovar: the disk is full\n"


def test_nothing_running_is_no_error_for_down(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("SAMOVAR_HOME", str(tmp_path))

    assert _run(monkeypatch, "down") == 0
    assert capsys.readouterr().out.endswith("nothing runs\n")


@pytest.mark.parametrize("command", ["migrate", "bootstrap", "status"])
def test_a_command_that_needs_running_servers_says_so(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    command: str,
) -> None:
    monkeypatch.setenv("SAMOVAR_HOME", str(tmp_path))

    assert _run(monkeypatch, command) == 1
    assert capsys.readouterr().err == (
        "samovar: Samovar does not run; start it with 'make up' or 'samovar up'\n"
    )


def test_a_data_directory_without_rights_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SAMOVAR_HOME", str(tmp_path / "file" / "home"))

    assert _run(monkeypatch, "up") == 1

    printed = capsys.readouterr().err
    assert printed.startswith("samovar: cannot use the data directory")
    assert printed.count("\n") == 1


def test_a_terminal_that_is_gone_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ours, theirs = pty.openpty()
    os.close(ours)
    rows = [state.ChildState("nats", "here", "ready", 0, None)]
    recorded = state.StackState(state.own_mark(), True, {"edge": 8640}, [], rows)
    gone = os.fdopen(theirs, "w")
    monkeypatch.setattr(sys, "stdout", gone)
    sys.stdout.write("anybody?\n")
    with pytest.raises(OSError, match="Input/output error"):
        sys.stdout.flush()

    cli._say("stopping …")
    cli._show(tmp_path, recorded)

    monkeypatch.undo()
    with contextlib.suppress(OSError):
        gone.close()


def test_a_commands_module_is_added_when_it_is_called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    extension = types.ModuleType("samovar_extension")
    commands = typer.Typer()

    @commands.callback(invoke_without_command=True)
    def tell() -> None:
        typer.echo("it was a good game")

    extension.__dict__["app"] = commands
    extension.__spec__ = types.SimpleNamespace(name="samovar_extension")  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, "samovar_extension", extension)
    monkeypatch.setattr(cli, "_EXTENSIONS", {"tell": "samovar_extension"})
    monkeypatch.setattr(cli, "app", typer.Typer(no_args_is_help=True))

    assert _run(monkeypatch, "tell") == 0
    assert capsys.readouterr().out == "it was a good game\n"


def test_the_written_nats_configuration_is_private(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SAMOVAR_HOME", str(tmp_path / "home"))
    file = tmp_path / "nats.conf"

    assert _run(monkeypatch, "nats-config", str(file)) == 0

    assert file.stat().st_mode & 0o777 == 0o600
    assert 'listen: "0.0.0.0:4222"' in file.read_text()


def test_an_unknown_service_cannot_be_left_out() -> None:
    with pytest.raises(StackError, match="there is no service cashier"):
        cli.up(without=["cashier"])
