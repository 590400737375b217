"""``samovar up``, ``status`` and ``down`` as a person uses them, on a terminal of its own."""

import contextlib
import fcntl
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import termios
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import nats
import psutil
import pytest
from nats.js.errors import NotFoundError

from samovar import paths, ports, process, state
from samovar.background import run
from samovar.embedded.stack import Infra
from samovar.services import SERVICES
from shared.contracts.walls import CONSUMERS, STREAM
from tests.fixtures import data_directory

RUNNING = {"postgres", "nats", "valkey", "auth", "edge"}
STOP_LIMIT_S = 10


class Terminal:
    """``samovar up`` on a pseudo-terminal: what it prints is read, keys can be pressed."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        os.set_blocking(self._ours, False)
        self.process = subprocess.Popen(
            command,
            env=env,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  # as a shell
        )
        os.close(theirs)
        self._is_open = True
        self.printed = ""

    def press(self, key: bytes) -> None:
        os.write(self._ours, key)

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            os.close(self._ours)

    def wait(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Read until the condition holds; a full terminal would block who writes to it."""

        def read_and_ask() -> bool:
            if self._is_open:
                with contextlib.suppress(OSError):  # nothing to read, or the other end is closed
                    while part := os.read(self._ours, 65_536):
                        self.printed += part.decode(errors="replace")
            return condition()

        return process.wait_until(read_and_ask, timeout_s)

    def wait_end(self, timeout_s: float) -> bool:
        return self.wait(lambda: self.process.poll() is not None, timeout_s)


class Commands:
    """Runs the command line on one data directory with random ports."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.ports = {name: ports.free_port() for name in ports.DEFAULT_PORTS}
        self.terminals: list[Terminal] = []
        self._up = ["up", *(f"--without={service}" for service in SERVICES if service != "auth")]
        # The tables of the one service that runs; these tests are about processes.
        migrations = root / "migrations"
        migrations.mkdir()
        (migrations / "auth").symlink_to(paths.project_root() / "services" / "auth" / "migrations")
        self._env = os.environ | {
            "SAMOVAR_HOME": str(root),
            "SAMOVAR_MIGRATIONS_DIR": str(migrations),
            **{ports.variable_of(name): str(port) for name, port in self.ports.items()},
        }

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

    def launch(self) -> Terminal:
        terminal = Terminal([sys.executable, "-m", "samovar", *self._up], self._env)
        self.terminals.append(terminal)
        return terminal

    def start(self) -> tuple[Terminal, state.StackState]:
        terminal = self.launch()

        def is_decided() -> bool:
            recorded = state.read(self.root)
            is_ready = recorded is not None and recorded.is_ready
            return terminal.process.poll() is not None or is_ready

        assert terminal.wait(is_decided, 60), terminal.printed
        assert terminal.process.poll() is None, terminal.printed
        assert terminal.wait(lambda: "Stop with Ctrl-C" in terminal.printed, 10), terminal.printed
        return terminal, self.recorded()

    def recorded(self) -> state.StackState:
        recorded = state.read(self.root)
        assert recorded is not None
        return recorded

    def clean_up(self) -> None:
        for terminal in self.terminals:
            terminal.close()
            terminal.process.kill()
            terminal.process.wait()
        self.terminals.clear()
        state.sweep(self.root)


@pytest.fixture(scope="module")
def module_commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    with data_directory(tmp_path_factory) as root:
        yield Commands(root)


@pytest.fixture
def commands(module_commands: Commands) -> Iterator[Commands]:
    """One data directory for all tests of the module: only the first makes a database."""
    yield module_commands
    module_commands.clean_up()


@pytest.fixture
def new_commands(empty_root: Path) -> Iterator[Commands]:
    commands = Commands(empty_root)
    yield commands
    commands.clean_up()


def _family(recorded: state.StackState) -> list[psutil.Process]:
    return process.descendants(recorded.supervisor.pid)


def _crash_everything(commands: Commands) -> None:
    """Kill every child at once and empty NATS's store before the supervisor can look."""
    recorded = commands.recorded()
    os.kill(recorded.supervisor.pid, signal.SIGSTOP)
    for child in recorded.children:
        assert child.mark is not None
        os.kill(child.mark.pid, signal.SIGKILL)
        assert process.wait_until(lambda mark=child.mark: mark.find() is None, 5)  # type: ignore[misc]
    shutil.rmtree(commands.root / "nats" / "jetstream")
    os.kill(recorded.supervisor.pid, signal.SIGCONT)


def _is_stream_complete(commands: Commands) -> bool:
    return run(_consumers(Infra(commands.root, fixed=commands.ports))) == set(CONSUMERS)


async def _consumers(infra: Infra) -> set[str]:
    connection = await nats.connect(
        infra.nats_url,
        user="bootstrap",
        password=infra.nats_password("bootstrap"),
        inbox_prefix=b"_INBOX_bootstrap",
    )
    try:
        return {info.name for info in await connection.jetstream().consumers_info(STREAM)}
    except NotFoundError:
        return set()
    finally:
        await connection.close()


def test_whatever_crashes_is_restarted_and_shown_until_ctrl_c_stops_everything(
    commands: Commands,
) -> None:
    terminal, recorded = commands.start()
    family = _family(recorded)
    assert {child.name for child in recorded.children} == RUNNING
    edge = f"http://127.0.0.1:{commands.ports['edge']}"
    with urllib.request.urlopen(f"{edge}/.well-known/jwks.json", timeout=5) as keys:
        assert b"Ed25519" in keys.read()

    _crash_everything(commands)

    def is_everything_back() -> bool:
        children = commands.recorded().children
        return all(child.restarts >= 1 and child.state == "ready" for child in children)

    assert terminal.wait(is_everything_back, 60), terminal.printed
    assert terminal.wait(lambda: _is_stream_complete(commands), 10)
    status = commands.run("status")
    assert status.returncode == 0, status.stdout
    assert "restarts: 1" in status.stdout
    second = commands.up()
    assert second.returncode == 1
    assert f"already runs (pid {recorded.supervisor.pid})" in second.stderr

    family += _family(commands.recorded())
    begin = time.monotonic()
    terminal.press(b"\x03")

    assert terminal.wait_end(STOP_LIMIT_S + 5)
    assert time.monotonic() - begin < STOP_LIMIT_S
    assert terminal.process.returncode == 0
    for name in RUNNING:
        assert f"{name} was killed by SIGKILL; restarting in 0.5 s" in terminal.printed
        assert f"{name} is ready again" in terminal.printed
    assert len(family) >= 2 * len(RUNNING)
    assert not any(process.is_living(member) for member in family)
    assert state.read(commands.root) is None


def test_a_closed_terminal_stops_everything_in_order(commands: Commands) -> None:
    terminal, recorded = commands.start()
    family = _family(recorded)
    marks = {child.name: child.mark for child in recorded.children if child.mark is not None}
    assert set(marks) == RUNNING
    disorder: list[str] = []

    def is_gone(name: str) -> bool:
        return marks[name].find() is None

    def is_over() -> bool:
        # What stops last is looked at first: it cannot overtake us between two looks.
        are_servers_touched = any(is_gone(name) for name in ("postgres", "nats", "valkey"))
        is_auth_gone = is_gone("auth")
        if are_servers_touched and not is_auth_gone:
            disorder.append("a server before auth")
        if is_auth_gone and not is_gone("edge"):
            disorder.append("auth before the edge")
        return terminal.process.poll() is not None

    terminal.close()

    assert terminal.wait(is_over, STOP_LIMIT_S)
    assert disorder == []
    assert not any(process.is_living(member) for member in family)
    assert state.read(commands.root) is None


def test_nothing_outlives_a_killed_supervisor_and_down_cleans_up(commands: Commands) -> None:
    _, recorded = commands.start()
    family = _family(recorded)

    os.kill(recorded.supervisor.pid, signal.SIGKILL)

    down = commands.run("down")
    assert down.returncode == 0, down.stderr
    assert "stopped" in down.stdout
    assert process.wait_gone(family, 5) == []
    assert state.read(commands.root) is None


def test_down_stops_also_what_is_just_starting_for_the_first_time(new_commands: Commands) -> None:
    terminal = new_commands.launch()
    assert terminal.wait(lambda: state.read(new_commands.root) is not None, 30), terminal.printed
    recorded = new_commands.recorded()
    assert not recorded.is_ready

    down = new_commands.run("down")

    assert down.returncode == 0, down.stderr
    assert "stopped" in down.stdout
    assert terminal.wait_end(1)
    assert "Traceback" not in terminal.printed
    assert state.read(new_commands.root) is None


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
