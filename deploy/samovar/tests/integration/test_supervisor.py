"""``samovar up``, ``status`` and ``down`` as a person uses them, with the servers and the edge."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from samovar import ports, process, state
from samovar.services import SERVICES


class Commands:
    """Runs the command line on one data directory with random ports."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.ports = {name: ports.free_port() for name in ports.DEFAULT_PORTS}
        self.up_process: subprocess.Popen[str] | None = None
        self._env = os.environ | {"SAMOVAR_HOME": str(root)}
        # No services, no tables: these tests are about processes.
        self._env["SAMOVAR_MIGRATIONS_DIR"] = str(root / "no-migrations")
        self._env |= {ports.variable_of(name): str(port) for name, port in self.ports.items()}
        self._up = ["up", *(f"--without={service}" for service in SERVICES)]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "samovar", *arguments],
            env=self._env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def up(self) -> subprocess.CompletedProcess[str]:
        """Run ``up`` where it is expected to fail."""
        return self.run(*self._up)

    def start(self) -> state.StackState:
        self.up_process = subprocess.Popen(
            [sys.executable, "-m", "samovar", *self._up],
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert process.wait_until(self._is_ready_or_ended, 60)
        return self.recorded()

    def _is_ready_or_ended(self) -> bool:
        assert self.up_process is not None
        assert self.up_process.poll() is None, self.up_process.communicate()
        recorded = state.read(self.root)
        return recorded is not None and recorded.is_ready

    def recorded(self) -> state.StackState:
        recorded = state.read(self.root)
        assert recorded is not None
        return recorded

    def child(self, name: str) -> state.ChildState:
        return next(child for child in self.recorded().children if child.name == name)


def _family(recorded: state.StackState) -> list[psutil.Process]:
    return process.descendants(recorded.supervisor.pid)


@pytest.fixture
def commands(empty_root: Path) -> Iterator[Commands]:
    commands = Commands(empty_root)
    yield commands
    if commands.up_process is not None:
        commands.up_process.kill()
        commands.up_process.communicate()
    state.sweep(empty_root)


def test_crashed_servers_are_restarted_and_shown_until_ctrl_c_stops_everything(
    commands: Commands,
) -> None:
    recorded = commands.start()
    family = _family(recorded)
    assert {child.name for child in recorded.children} == {"postgres", "nats", "valkey", "edge"}
    edge = f"http://127.0.0.1:{commands.ports['edge']}/"
    with urllib.request.urlopen(edge, timeout=5) as page:
        assert b"Samovar" in page.read()

    for child in recorded.children:
        assert child.mark is not None
        os.kill(child.mark.pid, signal.SIGKILL)

    assert process.wait_until(
        lambda: all(
            child.restarts >= 1 and child.state == "ready" for child in commands.recorded().children
        ),
        40,
    )
    status = commands.run("status")
    assert status.returncode == 0
    assert "restarts: 1" in status.stdout

    second = commands.up()
    assert second.returncode == 1
    assert f"already runs (pid {recorded.supervisor.pid})" in second.stderr

    assert commands.up_process is not None
    family += _family(commands.recorded())
    begin = time.monotonic()
    commands.up_process.send_signal(signal.SIGINT)
    printed, _ = commands.up_process.communicate(timeout=15)

    assert time.monotonic() - begin < 10
    assert commands.up_process.returncode == 0
    for child in recorded.children:
        assert f"{child.name} was killed by SIGKILL; restarting in 0.5 s" in printed
        assert f"{child.name} is ready again" in printed
    assert len(family) >= 8
    assert not any(process.is_living(member) for member in family)
    assert state.read(commands.root) is None


def test_nothing_outlives_a_killed_supervisor_and_down_cleans_up(commands: Commands) -> None:
    recorded = commands.start()
    family = _family(recorded)

    os.kill(recorded.supervisor.pid, signal.SIGKILL)

    down = commands.run("down")
    assert down.returncode == 0, down.stderr
    assert "stopped" in down.stdout
    assert process.wait_gone(family, 5) == []
    assert commands.run("status").returncode == 1


def test_down_stops_a_running_supervisor_and_waits_for_it(commands: Commands) -> None:
    recorded = commands.start()
    family = _family(recorded)

    down = commands.run("down")

    assert down.returncode == 0, down.stderr
    assert not any(process.is_living(member) for member in family)
    assert commands.run("down").stdout.endswith("nothing runs\n")


def test_every_taken_port_is_named_in_one_message(commands: Commands) -> None:
    with (
        socket.create_server(("127.0.0.1", commands.ports["valkey"])),
        socket.create_server(("127.0.0.1", commands.ports["edge"])),
    ):
        failed = commands.up()

    assert failed.returncode == 1
    for name in ("valkey", "edge"):
        assert f"samovar: port {commands.ports[name]} ({name}) is taken by" in failed.stderr
    assert f"(pid {os.getpid()})" in failed.stderr
    assert "Traceback" not in failed.stderr + failed.stdout


def test_a_data_directory_without_rights_is_one_clear_line(commands: Commands) -> None:
    (commands.root / "file").touch()
    commands._env["SAMOVAR_HOME"] = str(commands.root / "file" / "home")

    failed = commands.up()

    assert failed.returncode == 1
    assert failed.stderr.startswith("samovar: cannot use the data directory")
    assert failed.stderr.count("\n") == 1


def test_commands_that_need_running_servers_say_so(commands: Commands) -> None:
    for command in ("migrate", "bootstrap", "status"):
        failed = commands.run(command)

        assert failed.returncode == 1
        assert failed.stderr == (
            "samovar: Samovar does not run; start it with 'make up' or 'samovar up'\n"
        )
