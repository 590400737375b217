"""The command ``samovar``.

Commands of other modules are added in ``_EXTENSIONS``: such a module has a ``typer.Typer`` named
``app``. It is imported only when its command is called (or help is asked for).
"""

import contextlib
import errno
import importlib
import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from samovar import paths, ports, process, state, status
from samovar.addresses import Addresses
from samovar.credentials import load_or_create, write_private
from samovar.embedded.stack import Infra
from samovar.errors import StackError
from samovar.nats_config import NatsOptions, render
from samovar.services import SERVICES
from samovar.supervisor import Platform, Supervisor

_EXTENSIONS: Final = {
    "demo": "samovar.demo",
    "bench": "samovar.bench.command",
    "ledger": "samovar.ledger",
    "docs": "samovar.docs",
}
_DOWN_LIMIT_S: Final = 15.0
# A terminal that was closed, a full disk, letters the terminal lacks, rich's answer to a broken
# pipe: none of them may keep the supervisor from its work, its orderly stop least of all.
_NOBODY_READS: Final = (OSError, ValueError, SystemExit)

app = typer.Typer(
    help="Runs and looks after Samovar.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
# A pipe has no width of its own; a table that wraps cannot be read by a script.
out = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
err = Console(stderr=True, highlight=False)

PortOptions = Annotated[
    list[str] | None,
    typer.Option("--port", metavar="NAME=PORT", help="Another port, such as edge=9000."),
]


@app.command()
def up(
    detach: Annotated[bool, typer.Option(help="Return when all is ready.")] = False,
    port: PortOptions = None,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="SERVICE", help="Do not start this service (see 'samovar run')."),
    ] = None,
) -> None:
    """Start servers, services and edge, and keep them running until Ctrl-C."""
    table = ports.fixed_ports(ports.parse_options(port or []))
    left_out = set(without or [])
    if unknown := left_out - set(SERVICES):
        raise StackError(f"there is no service {', '.join(sorted(unknown))}")
    if detach:
        _detach()
        return
    root = paths.home()
    Infra.prepare(root)
    with state.only_one(root):
        for name in state.sweep(root):
            _say(f"ended {name}, left behind by an earlier run")
        platform = Platform(root, table, [name for name in SERVICES if name not in left_out])
        Supervisor(platform, _say, lambda recorded: _show(root, recorded)).run()


@app.command()
def down() -> None:
    """Stop everything that 'samovar up' started, also what a killed one left behind."""
    root = paths.home()
    recorded = state.read(root)
    if recorded is None:
        _say("nothing runs")
        return
    supervisor = recorded.supervisor.find()
    if supervisor is not None:
        supervisor.terminate()
        if process.wait_gone([supervisor], _DOWN_LIMIT_S):
            process.kill_all([supervisor])
    leftovers = state.sweep(root)
    _say("stopped" + (f" (also left behind: {', '.join(leftovers)})" if leftovers else ""))


@app.command(name="status")
def show_status() -> None:
    """Print what runs, where, and whether it answers now; exit code 1 if not all is ready."""
    recorded = _recorded()
    platform = Platform(paths.home(), recorded.ports, recorded.services)
    rows = status.check(platform, recorded)
    status.show(out, rows, platform.edge.url)
    if recorded.supervisor.find() is None:
        raise StackError("the supervisor is gone: 'samovar down' ends what it left behind")
    if any(row.state != "ready" for row in rows):
        raise typer.Exit(1)


@app.command()
def migrate() -> None:
    """Bring every service's schema to its newest migration."""
    migrated = _addresses().migrate()
    _say(f"at their newest migration: {', '.join(migrated) or 'no service has migrations'}")


@app.command()
def bootstrap() -> None:
    """Create roles, schemas, the event stream and its consumers; changes nothing if they exist."""
    _addresses().bootstrap()
    _say("roles, schemas, stream and consumers are there")


@app.command()
def run(service: Annotated[str, typer.Argument(help="Such as game_engine.")]) -> None:
    """Run one service here, in the foreground, against the servers that run ('up --without')."""
    if service not in SERVICES:
        raise StackError(f"there is no service {service}; known: {', '.join(SERVICES)}")
    recorded = _recorded()
    env = Infra(paths.home(), fixed=recorded.ports).service_env(service)
    os.execve(sys.executable, [sys.executable, "-m", service], env)  # noqa: S606  # becomes it


@app.command(name="nats-config")
def write_nats_config(
    file: Annotated[Path, typer.Argument(help="Where to write it; it holds passwords.")],
    host: str = "0.0.0.0",  # noqa: S104  # for containers, whose network is the wall
    port: int = 4222,
    store: Path = Path("/data"),
) -> None:
    """Write the configuration of a NATS server that is not ours (containers, Kubernetes)."""
    passwords = load_or_create(paths.home() / "secrets").of("nats")
    write_private(file, render(NatsOptions(host, port, store), passwords))


def _addresses() -> Addresses:
    """Return the servers the environment names, else the embedded ones that run."""
    admin_url = os.environ.get("SAMOVAR_ADMIN_DATABASE_URL")
    if admin_url is None:
        return Infra(paths.home(), fixed=_recorded().ports)
    return Addresses(
        paths.home(),
        load_or_create(paths.home() / "secrets"),
        postgres_admin_url=admin_url,
        nats_url=os.environ.get("SAMOVAR_NATS_URL", ""),
        redis_url="",
    )


def _recorded() -> state.StackState:
    recorded = state.read(paths.home())
    if recorded is None:
        raise StackError("Samovar does not run; start it with 'make up' or 'samovar up'")
    return recorded


def _detach() -> None:
    """Start the supervisor as a process of its own and wait until all is ready."""
    root = paths.home()
    Infra.prepare(root)
    log = root / "logs" / "supervisor.log"
    process.rotate(log)
    arguments = [argument for argument in sys.argv[1:] if argument != "--detach"]
    with log.open("ab") as output:
        begin = output.tell()
        child = subprocess.Popen(
            [sys.executable, "-m", "samovar", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def is_decided() -> bool:
        recorded = state.read(root)
        is_ours = recorded is not None and recorded.supervisor.pid == child.pid
        return child.poll() is not None or (is_ours and recorded is not None and recorded.is_ready)

    is_in_time = process.wait_until(is_decided, 300, interval_s=0.1)
    said = log.read_bytes()[begin:].decode(errors="replace").strip()
    if child.poll() is not None or not is_in_time:
        said = said or f"samovar: the supervisor did not start (log: {log})"
        err.print(said, markup=False, soft_wrap=True)
        raise typer.Exit(1)
    _show(root, _recorded())


def _show(root: Path, recorded: state.StackState) -> None:
    with contextlib.suppress(*_NOBODY_READS):
        status.show(out, recorded.children, f"http://{ports.LOOPBACK}:{recorded.ports['edge']}")
        out.print(f"Logs: {root / 'logs'}. Stop with Ctrl-C or 'samovar down'.", soft_wrap=True)


def _say(text: str) -> None:
    with contextlib.suppress(*_NOBODY_READS):
        print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def _add_extensions(arguments: list[str]) -> None:
    wanted = arguments[0] if arguments else "--help"
    for name, module in _EXTENSIONS.items():
        if wanted in (name, "--help") and importlib.util.find_spec(module) is not None:
            app.add_typer(importlib.import_module(module).app, name=name)


def main() -> None:
    """Run the command line; errors are one line on stderr and exit code 1."""
    try:
        _add_extensions(sys.argv[1:])
        app()
    except StackError as error:
        for line in str(error).splitlines():
            err.print(f"samovar: {line}", markup=False, soft_wrap=True)
    except OSError as error:
        reason = "the disk is full" if error.errno == errno.ENOSPC else str(error)
        err.print(f"samovar: {reason}", markup=False, soft_wrap=True)
    sys.exit(1)
