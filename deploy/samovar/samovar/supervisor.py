"""Keeps the whole stack running: start in order, restart what crashes, stop in reverse order."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Final

from samovar import ports, process, state
from samovar.backoff import Backoff
from samovar.embedded.caddy import CaddyServer
from samovar.embedded.server import Server, stop_together
from samovar.embedded.service import ServiceProcess
from samovar.embedded.stack import Infra
from samovar.errors import StackError

_TICK_S: Final = 0.2
_LOGS_INTERVAL_S: Final = 60.0
_STREAMS_RETRY_S: Final = 5.0
_STREAMS_TIMEOUT_S: Final = 2.0  # a stop may have to wait for it
# A stop may take ten seconds in all. What edge and services do not need, the servers may use.
_STOP_TOTAL_S: Final = 9.0
_STOP_EDGE_S: Final = 1.5
_STOP_SERVICES_S: Final = 4.5


@dataclass(slots=True)
class Child:
    """A server or service under supervision."""

    server: Server
    phase: str = "waiting"
    restarts: int = 0
    backoff: Backoff = field(default_factory=Backoff)
    launched_at_s: float = 0.0
    next_start_at_s: float | None = None

    def to_state(self) -> state.ChildState:
        """Return the row of the status table."""
        running = self.server.running if self.server.is_alive() else None
        mark = state.mark_of(running.pid) if running is not None else None
        return state.ChildState(
            self.server.name, self.server.place, self.phase, self.restarts, mark
        )


class Platform:
    """Servers, services and edge of one data directory, whether they run or not."""

    def __init__(self, root: Path, port_table: Mapping[str, int], services: Sequence[str]) -> None:
        self.port_table = dict(port_table)
        self.infra = Infra(root, fixed=port_table)
        self.services: list[ServiceProcess] = [self.infra.service(name) for name in services]
        self.edge: CaddyServer = self.infra.edge(port_table)

    @property
    def in_order(self) -> list[Server]:
        """Everything in the order of starting."""
        return [*self.infra.servers, *self.services, self.edge]


class Supervisor:
    """One run of ``samovar up``; call ``run`` from the main thread.

    ``say`` gets one line for each thing a person should know; ``show`` is called once, when all
    is ready. Neither may raise.
    """

    def __init__(
        self,
        platform: Platform,
        say: Callable[[str], None],
        show: Callable[[state.StackState], None],
    ) -> None:
        self._platform = platform
        self._root = platform.infra.root
        self._say = say
        self._show = show
        self._children = [Child(server) for server in platform.in_order]
        self._mark = state.own_mark()
        self._stop = threading.Event()
        self._is_ready = False
        self._streams_due_at_s: float | None = None
        self._logs_due_at_s = 0.0

    def run(self) -> None:
        """Start everything, keep it running until a signal comes, stop everything.

        Raises:
            StackError: if the start failed; everything is stopped by then.
        """
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        try:
            self._start()
            if not self._stop.is_set():
                self._show(self._to_state())
            while not self._stop.wait(_TICK_S):
                self._tick(time.monotonic())
        finally:
            self._stop_all()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._stop.set()

    # Start

    def _start(self) -> None:
        infra = self._platform.infra
        self._record()  # from now on 'down' finds us
        self._check_ports()
        self._bring_up(infra.servers)
        if self._stop.is_set():
            return
        infra.bootstrap()
        infra.migrate()
        self._bring_up(self._platform.services)
        self._bring_up([self._platform.edge])
        self._is_ready = not self._stop.is_set()
        self._record()

    def _check_ports(self) -> None:
        """Name every port that is taken, not only the first."""
        problems = []
        for child in self._children:
            for name, port in child.server.ports.items():
                try:
                    ports.check_port(name, port)
                except StackError as error:
                    problems.append(str(error))
        if problems:
            raise StackError("\n".join(problems))

    def _bring_up(self, servers: Sequence[Server]) -> None:
        """Launch all, then wait for all; returns early when asked to stop."""
        group = [child for child in self._children if child.server in servers]
        for child in group:
            if self._stop.is_set():
                return
            self._launch(child)
        for child in group:
            child.server.wait_ready(is_cancelled=self._stop.is_set)
            if self._stop.is_set():
                return
            child.phase = "ready"
            self._record()

    def _launch(self, child: Child) -> None:
        child.launched_at_s = time.monotonic()
        child.next_start_at_s = None
        child.phase = "starting"
        child.server.launch()
        self._record()

    # Watch

    def _tick(self, now_s: float) -> None:
        for child in self._children:
            try:
                self._look_after(child, now_s)
            except (StackError, OSError) as error:
                # No process, file or memory is to be had: a trouble of one child, and for a while.
                with contextlib.suppress(OSError):
                    child.server.kill()
                self._on_crash(child, f"could not be started: {error}")
        self._restore_streams(now_s)
        if now_s >= self._logs_due_at_s:
            self._logs_due_at_s = now_s + _LOGS_INTERVAL_S
            process.rotate_all(self._root / "logs")

    def _look_after(self, child: Child, now_s: float) -> None:
        if child.next_start_at_s is not None:
            if now_s >= child.next_start_at_s:
                self._restart(child)
        elif not child.server.is_alive():
            self._on_crash(child, _how_it_ended(child.server))
        elif child.phase == "starting":
            self._check_start(child, now_s)

    def _restart(self, child: Child) -> None:
        child.restarts += 1
        child.launched_at_s = time.monotonic()
        child.server.kill()  # what an attempt that failed may have left
        self._launch(child)

    def _check_start(self, child: Child, now_s: float) -> None:
        if child.server.is_ready():
            child.phase = "ready"
            self._say(f"{child.server.name} is ready again (restart {child.restarts})")
            self._record()
            if child.server is self._platform.infra.nats:
                self._streams_due_at_s = now_s
        elif now_s - child.launched_at_s > child.server.start_timeout_s:
            child.server.kill()
            self._on_crash(child, "did not become ready in time")

    def _on_crash(self, child: Child, how: str) -> None:
        now_s = time.monotonic()
        delay_s = child.backoff.after_crash(now_s - child.launched_at_s)
        child.next_start_at_s = now_s + delay_s
        child.phase = f"restarting (crashed: {how})"
        self._say(
            f"{child.server.name} {how}; restarting in {delay_s:g} s (log: {child.server.log})"
        )
        self._record()

    def _restore_streams(self, now_s: float) -> None:
        """Make the stream and its consumers again: NATS may have come back without its store."""
        if self._streams_due_at_s is None or now_s < self._streams_due_at_s:
            return
        try:
            self._platform.infra.create_streams(_STREAMS_TIMEOUT_S)
            self._streams_due_at_s = None
        except (StackError, OSError) as error:
            self._streams_due_at_s = now_s + _STREAMS_RETRY_S
            self._say(f"{error}; trying again in {_STREAMS_RETRY_S:g} s")

    # Stop

    def _stop_all(self) -> None:
        self._say("stopping …")
        deadline = time.monotonic() + _STOP_TOTAL_S
        stop_together([self._platform.edge], _STOP_EDGE_S)
        stop_together(list(reversed(self._platform.services)), _STOP_SERVICES_S)
        servers = list(reversed(self._platform.infra.servers))
        stop_together(servers, deadline - time.monotonic())
        state.clear(self._root)

    def _to_state(self) -> state.StackState:
        return state.StackState(
            supervisor=self._mark,
            is_ready=self._is_ready,
            ports=self._platform.port_table,
            services=[service.name for service in self._platform.services],
            children=[child.to_state() for child in self._children],
        )

    def _record(self) -> None:
        try:
            state.write(self._root, self._to_state())
        except OSError as error:
            # A full disk is no reason to stop what still runs.
            self._say(f"cannot record the state: {error.strerror}")


def _how_it_ended(server: Server) -> str:
    code = server.running.returncode if server.running is not None else None
    if code is not None and code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"
