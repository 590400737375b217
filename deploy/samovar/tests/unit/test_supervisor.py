"""What the supervisor does when the system around it fails, with small children of our own."""

import errno
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest
from typing_extensions import override

from samovar import process, state
from samovar.embedded.server import Server
from samovar.errors import StackError
from samovar.ports import free_port
from samovar.supervisor import Platform, Supervisor


class Sleeper(Server):
    """A child that does nothing; tests make its preparation or its readiness fail."""

    def __init__(self, name: str, root: Path) -> None:
        super().__init__(name, root / "logs" / f"{name}.log", {name: free_port()})
        self.failures: list[Exception] = []
        self.readiness_failures: list[Exception] = []

    @override
    def prepare(self) -> None:
        if self.failures:
            raise self.failures.pop()

    @override
    def command(self) -> list[str]:
        return ["/bin/sleep", "60"]

    @override
    def is_ready(self) -> bool:
        if self.readiness_failures:
            raise self.readiness_failures.pop()
        return True


class Children:
    """A platform of sleepers, as far as the supervisor asks one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.infra = self
        self.nats = Sleeper("nats", root)
        self.edge = Sleeper("edge", root)
        self.servers = (self.nats,)
        self.services: list[Server] = []
        self.port_table: dict[str, int] = {}
        self.in_order = [self.nats, self.edge]
        self.streams_made = 0
        self.stream_failures: list[Exception] = []

    def bootstrap(self) -> None:
        pass

    def migrate(self) -> None:
        pass

    def create_streams(self, timeout_s: float) -> None:
        if self.stream_failures:
            raise self.stream_failures.pop()
        self.streams_made += 1


class Run:
    """A started supervisor whose clock the test moves."""

    def __init__(self, children: Children) -> None:
        self.children = children
        self.said: list[str] = []
        self.supervisor = Supervisor(cast(Platform, children), self.said.append, lambda _: None)
        self._now_s = 0.0
        self.supervisor._start()

    def crash(self, server: Server) -> None:
        assert server.running is not None
        server.running.kill()
        server.running.wait()
        self.tick()

    def tick(self, until: Callable[[], object] = lambda: True) -> None:
        """Let the supervisor look, an hour later each time: every delay is over."""
        for _ in range(5):
            self._now_s += 3600
            # The supervisor reads the clock itself where it plans; its plans lie before ours.
            self.supervisor._tick(self._now_s + 1e9)
            if until():
                return
        raise AssertionError(self.said)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    (tmp_path / "logs").mkdir()
    run = Run(Children(tmp_path))
    yield run
    run.supervisor._stop_all()


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (OSError(errno.EAGAIN, "Resource temporarily unavailable"), "temporarily unavailable"),
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full"),
        (StackError("port 1 is taken"), "port 1 is taken"),
    ],
)
def test_a_restart_that_fails_is_told_and_tried_again(
    run: Run, failure: Exception, said: str
) -> None:
    nats, edge = run.children.in_order
    nats.failures = [failure]
    run.crash(nats)

    run.tick(until=lambda: any(said in line for line in run.said))

    assert "restarting in 1 s" in run.said[-1]
    assert edge.is_alive()
    run.tick(until=lambda: run.said[-1] == "nats is ready again (restart 2)")
    assert nats.is_alive()


def test_a_child_that_cannot_be_asked_is_replaced_and_not_forgotten(run: Run) -> None:
    nats, edge = run.children.in_order
    nats.readiness_failures = [StackError("the stored password is refused")]
    run.crash(nats)
    run.tick(until=nats.is_alive)
    assert nats.running is not None
    first = nats.running

    run.tick(until=lambda: "the stored password is refused" in run.said[-1])

    assert first.poll() is not None
    assert edge.is_alive()
    run.tick(until=lambda: run.said[-1] == "nats is ready again (restart 2)")


def test_the_stream_is_made_again_whenever_nats_came_back(run: Run) -> None:
    run.children.stream_failures = [StackError("cannot create the event stream")]

    run.crash(run.children.nats)
    run.tick(until=lambda: run.children.streams_made)

    assert any("cannot create the event stream" in line for line in run.said)
    run.crash(run.children.edge)
    run.tick(until=lambda: run.said[-1].startswith("edge is ready again"))
    assert run.children.streams_made == 1


def test_logs_are_cut_while_their_writers_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LOG_SIZE_MAX_BYTES", 10)
    log = run.children.nats.log
    log.write_text("old and long enough to be cut\n")

    run.tick()

    assert log.read_text() == ""
    assert log.with_name("nats.1.log").read_text() == "to be cut\n"


def test_the_state_is_on_disk_before_anything_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "logs").mkdir()
    recorded: list[state.StackState | None] = []
    supervisor = Supervisor(cast(Platform, Children(tmp_path)), print, lambda _: None)
    monkeypatch.setattr(supervisor, "_check_ports", lambda: recorded.append(state.read(tmp_path)))

    try:
        supervisor._start()
    finally:
        supervisor._stop_all()

    assert [each.supervisor for each in recorded if each is not None] == [state.own_mark()]
