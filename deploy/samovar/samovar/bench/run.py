"""``samovar bench``: start a platform of its own, load it, print what a move costs.

The servers are real and durable (fsync and synchronous_commit on). Games are made through the
engine's own command, players through the auth service; the load goes over the public WebSocket.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import msgspec

from samovar.bench.generator import WARM_UP_S, Plan, TablePlan
from samovar.bench.usage import Usage, usage
from samovar.embedded.service import ServiceProcess
from samovar.embedded.stack import Infra
from shared.bus import Bus
from shared.contracts import engine

MOVES_PER_GAME = 48  # the plan must not run out of games, nor deal many more than are played
MAX_MOVES_PER_S = 6_000
NO_LIMIT = 10_000_000
LIMITS: dict[str, str | int] = {
    "GUESTS_PER_MINUTE": NO_LIMIT,
    "COMMANDS_PER_S": NO_LIMIT,
    "COMMANDS_BURST": NO_LIMIT,
    "STATE_REQUESTS_PER_S": NO_LIMIT,
    "UNAUTHENTICATED_SOCKETS": NO_LIMIT,
    "UNAUTHENTICATED_SOCKETS_PER_ADDRESS": NO_LIMIT,
    "LOG_LEVEL": "WARNING",
}
SERVICES = ("auth", "economy", "lobby", "game_engine", "bot", "realtime")


@dataclass(frozen=True, slots=True)
class Load:
    """One measurement: tables playing at once, seconds measured, moves/s offered (None: all)."""

    tables: int
    seconds: float
    rate: float | None


@dataclass(frozen=True, slots=True)
class Measured:
    """What one load cost. ``spent``: process -> (CPU seconds, bytes)."""

    load: Load
    figures: dict[str, Any]
    spent: dict[str, Usage]


@dataclass(frozen=True, slots=True)
class Platform:
    """The servers and services under load."""

    infra: Infra
    services: dict[str, ServiceProcess]

    def port(self, name: str) -> int:
        """Return a port by its name in the port table, such as ``realtime.ws``."""
        return self.services[name.partition(".")[0]].ports[name]

    def pids(self) -> dict[str, int]:
        children = (*self.services.values(), *self.infra.servers)
        return {child.name: child.running.pid for child in children if child.running}


def bench(tables: int, seconds: float, rate: float) -> bool:
    """Run the closed-loop load and the paced one; print both; return whether the mark is met."""
    with tempfile.TemporaryDirectory(prefix="samovar-bench-") as folder:
        root = Path(folder)
        root.chmod(0o711)
        infra = Infra.start(root / "data", fsync=True)
        try:
            services = {name: infra.service(name, 1, **LIMITS) for name in SERVICES}
            for child in services.values():
                child.launch()
            for child in services.values():
                child.wait_ready()
            platform = Platform(infra, services)
            print(_heading(asyncio.run(_settings(infra))))
            full = _measure(platform, Load(tables, seconds, None))
            _print(full)
            paced = _measure(platform, Load(tables, seconds, rate))
            _print(paced)
        finally:
            infra.stop_services()
            infra.stop()
    return _verdict(full, paced)


def _measure(platform: Platform, load: Load) -> Measured:
    pids = platform.pids()
    plan = asyncio.run(_plan(platform, load))
    with subprocess.Popen(
        [sys.executable, "-m", "samovar.bench.generator"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        if child.stdin is None or child.stdout is None:
            raise RuntimeError("no pipes to the generator")
        child.stdin.write(msgspec.json.encode(plan).decode() + "\n")
        child.stdin.flush()
        before = after = {name: Usage(0, 0) for name in pids}
        figures: dict[str, Any] = {}
        for line in child.stdout:
            message = json.loads(line)
            if message["event"] == "begin":
                print(f"\nmeasuring {load.seconds:.0f} s …", flush=True)
                before = {name: usage(pid) for name, pid in pids.items()}
            elif message["event"] == "end":
                after = {name: usage(pid) for name, pid in pids.items()}
            else:
                figures = message
    if not figures.get("moves"):
        raise RuntimeError("the load generator failed; see its messages above")
    spent = {
        name: Usage(after[name].cpu_s - before[name].cpu_s, after[name].memory_bytes)
        for name in pids
    }
    return Measured(load, figures, spent)


async def _plan(platform: Platform, load: Load) -> Plan:
    """Sign up guests and deal the games they will play, one after another at each table."""
    moves_per_s = load.rate or MAX_MOVES_PER_S
    moves = moves_per_s * (load.seconds + WARM_UP_S)
    rounds = max(2, int(moves / load.tables / MOVES_PER_GAME) + 1)
    infra = platform.infra
    auth_url = f"http://127.0.0.1:{platform.port('auth.http')}"
    bus = await Bus.connect(infra.nats_url, user="lobby", password=infra.nats_password("lobby"))
    gate = asyncio.Semaphore(16)
    async with httpx.AsyncClient(base_url=auth_url, timeout=30) as http:

        async def guest() -> tuple[str, str]:
            async with gate:
                reply = await http.post("/v1/auth/guest", json={})
            reply.raise_for_status()
            body = reply.json()
            return body["access_token"], body["player"]["player_id"]

        async def table() -> TablePlan:
            guests = [await guest() for _ in range(2)]
            games = []
            for _ in range(rounds):
                async with gate:
                    games.append(str(await _deal(bus, [player for _, player in guests])))
            return TablePlan([token for token, _ in guests], games)

        tables = list(await asyncio.gather(*(table() for _ in range(load.tables))))
    await bus.drain()
    return Plan(
        f"ws://127.0.0.1:{platform.port('realtime.ws')}/ws", tables, load.seconds, load.rate
    )


async def _deal(bus: Bus, players: list[str]) -> Any:
    summary = await bus.call(
        engine.CREATE_GAME,
        engine.CreateGame(
            game_id=uuid4(),
            room_id=uuid4(),
            game="durak",
            mode="throw_in",
            options={"turn_seconds": 120},
            players=tuple(
                engine.GamePlayer(player_id=player, nickname="bench") for player in players
            ),
            has_stake=False,
            is_private=False,
        ),
        timeout_s=30,
    )
    return summary.game_id


async def _settings(infra: Infra) -> dict[str, str]:
    connection = await asyncpg.connect(infra.database_url("engine"))
    names = ("server_version", "fsync", "synchronous_commit", "full_page_writes")
    found = {name: str(await connection.fetchval(f"show {name}")) for name in names}
    await connection.close()
    return found


def _heading(settings: dict[str, str]) -> str:
    shown = ", ".join(f"{name} {value}" for name, value in settings.items())
    return f"{os.cpu_count()} cores, load generator included; PostgreSQL: {shown}"


def _print(measured: Measured) -> None:
    load, figures = measured.load, measured.figures
    moves = max(figures["moves"], 1)
    offered = "all it can take" if load.rate is None else f"{load.rate:.0f} moves/s offered"
    print(f"\n{load.tables} two-player Durak games, {load.seconds:.0f} s, {offered}")
    print(
        f"  {_rate(measured):,.0f} accepted moves/s, action to own acknowledgement "
        f"p50 {figures['p50_ms']:.1f} ms, p99 {figures['p99_ms']:.1f} ms"
    )
    if figures["refused"] or figures["idle_tables"]:
        print(f"  refused: {figures['refused']}, tables out of games: {figures['idle_tables']}")
    print(f"  {'process':<14}{'CPU s per 1,000 moves':>24}{'memory MB':>12}")
    for name, spent in sorted(measured.spent.items(), key=lambda item: -item[1].cpu_s):
        cost = spent.cpu_s / moves * 1000
        print(f"  {name:<14}{cost:>24.4f}{spent.memory_bytes / 2**20:>12.0f}")
    print(f"  {'all':<14}{_cost(measured):>24.4f}")
    print(f"  {'(generator)':<14}{figures['cpu_s'] / moves * 1000:>24.4f}")


def _rate(measured: Measured) -> float:
    return float(measured.figures["moves"] / measured.figures["seconds"])


def _cost(measured: Measured) -> float:
    total_s = sum(spent.cpu_s for spent in measured.spent.values())
    moves = max(int(measured.figures["moves"]), 1)
    return total_s / moves * 1000


def _verdict(full: Measured, paced: Measured) -> bool:
    marks = [
        (f"at least 2,500 moves/s: {_rate(full):,.0f}", _rate(full) >= 2500),
        (f"at most 0.30 CPU s per 1,000 moves: {_cost(full):.3f}", _cost(full) <= 0.30),
        (
            f"p99 below 50 ms at {paced.load.rate:.0f} moves/s: {paced.figures['p99_ms']:.1f} ms",
            paced.figures["p99_ms"] < 50,
        ),
    ]
    print("\nMark (2 cores, 200 games)")
    for text, is_met in marks:
        print(f"  {'met   ' if is_met else 'MISSED'} {text}")
    return all(is_met for _, is_met in marks)
