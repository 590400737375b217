"""How every service starts, runs and stops.

Start: telemetry, database, bus, Valkey, what the service composes, health endpoints, ready.
Stop (SIGTERM, SIGINT): not ready, stop accepting, let work finish, stop jobs, close.
"""

import asyncio
import contextlib
import gc
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import redis.asyncio as redis
import structlog
import uvicorn
import uvloop
from fastapi import FastAPI
from typing_extensions import override

from shared import http, metrics, migrations, telemetry
from shared.bus import Bus
from shared.db import Database
from shared.settings import ServiceSettings

Job = Callable[[asyncio.Event], Awaitable[None]]
Step = Callable[[], Awaitable[None]]

GC_THRESHOLD = 20_000  # new containers before Python looks for cycles, of which we make few
RESTART_MIN_S = 0.2
RESTART_MAX_S = 10.0

log = structlog.get_logger()


class Service:
    """A running service: its connections, and what it registered to run and to stop."""

    def __init__(self, name: str, settings: ServiceSettings, bus: Bus) -> None:
        self.name = name
        self.settings = settings
        self.bus = bus
        self.stopping = asyncio.Event()
        self.checks: dict[str, http.Check] = {
            "nats": self._check_bus,
            "jobs": self._check_jobs,
        }
        self.is_accepting = False
        self._jobs: list[asyncio.Task[None]] = []
        self._drains: list[Step] = []
        self._closes: list[Step] = []
        self._apps: list[tuple[FastAPI, str, int]] = []

    async def database(self, migrations_dir: Path) -> Database:
        """Connect to the service's schema; ready only when it stands at the code's revision."""
        url = self.settings.secret("database_url")
        db = Database.connect(url, name=self.name, pool_size=self.settings.database_pool_size)
        elsewhere = self.settings.migrations_dir
        expected = migrations.head(
            elsewhere / migrations_dir.parent.name if elsewhere else migrations_dir
        )

        async def check() -> None:
            if await db.migration_head() != expected:
                raise RuntimeError("migrations are not at head")

        self.checks["postgres"] = check
        self._closes.append(db.close)
        return db

    def valkey(self) -> "redis.Redis":
        """Connect to Valkey (presence, tickets, limits: things that may be lost)."""
        client: redis.Redis = redis.Redis.from_url(
            self.settings.secret("redis_url"), socket_timeout=2, socket_connect_timeout=2
        )

        async def check() -> None:
            await client.ping()

        self.checks["valkey"] = check
        self._closes.append(client.aclose)
        return client

    def job(self, name: str, run: Job) -> None:
        """Keep a background task running until the service stops; restart it if it raises."""
        self._jobs.append(asyncio.create_task(self._supervise(name, run), name=name))

    def every(self, name: str, interval_s: float, tick: Step) -> None:
        """Call ``tick`` again and again; a tick that raises is logged and the next one comes."""

        async def run(stop: asyncio.Event) -> None:
            while not stop.is_set():
                await tick()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), interval_s)

        self.job(name, run)

    def http(self, app: FastAPI, host: str, port: int) -> None:
        """Serve an app once everything is composed."""
        self._apps.append((app, host, port))

    def on_drain(self, step: Step) -> None:
        """Add a step between "no new work" and the end of the jobs."""
        self._drains.append(step)

    def on_close(self, step: Step) -> None:
        """Add a step at the very end, in reverse order of registration."""
        self._closes.append(step)

    async def _check_bus(self) -> None:
        if not self.bus.is_connected:
            raise ConnectionError("nats")

    async def _check_jobs(self) -> None:
        ended = [job.get_name() for job in self._jobs if job.done() and not self.stopping.is_set()]
        if ended:
            raise RuntimeError(f"jobs have ended: {ended}")

    async def _supervise(self, name: str, run: Job) -> None:
        delay_s = RESTART_MIN_S
        while not self.stopping.is_set():
            started = time.monotonic()
            try:
                await run(self.stopping)
            except Exception:
                metrics.JOB_FAILURES.labels(name).inc()
                log.exception("job failed", job=name)
                if time.monotonic() - started > RESTART_MAX_S:
                    delay_s = RESTART_MIN_S
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.stopping.wait(), delay_s)
                delay_s = min(delay_s * 2, RESTART_MAX_S)
            else:
                return

    @contextlib.asynccontextmanager
    async def _serving_http(self) -> AsyncIterator[None]:
        servers = [_Server(uvicorn.Config(
            app, host=host, port=port, log_config=None, access_log=False, lifespan="off",
            timeout_graceful_shutdown=5, server_header=False,
            forwarded_allow_ips=self.settings.trusted_proxies,
        )) for app, host, port in self._apps]  # fmt: skip
        tasks = [asyncio.create_task(server.serve()) for server in servers]
        try:
            yield
        finally:
            for server in servers:
                server.should_exit = True
            await asyncio.gather(*tasks)

    async def run(self) -> None:
        """Serve until a signal comes, then stop in order."""
        settings = self.settings
        if settings.health_port:
            side = http.create_app(f"{self.name} health")
            http.add_health(side, self.checks, lambda: self.is_accepting)
            self._apps.append((side, settings.health_host, settings.health_port))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stopping.set)
        async with self._serving_http():
            self.is_accepting = True
            log.info("started")
            await self.stopping.wait()
            self.is_accepting = False
            log.info("draining")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(settings.drain_timeout_s):
                    await self.bus.stop_serving()
                    for step in self._drains:
                        await step()
                    await asyncio.gather(*self._jobs)
        await self.close()
        log.info("stopped")

    async def close(self) -> None:
        """End jobs and connections."""
        self.stopping.set()
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)
        for step in (self.bus.drain, *reversed(self._closes)):
            try:
                await step()
            except Exception:
                log.exception("a step of the shutdown failed")


class _Server(uvicorn.Server):
    """Uvicorn without its own signal handlers: the life cycle owns the signals."""

    @override
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


Compose = Callable[[Service], Awaitable[None]]


async def start(name: str, settings: ServiceSettings, compose: Compose) -> Service:
    """Connect and compose a service without running it (tests use this)."""
    bus = await Bus.connect(
        settings.nats_url,
        user=settings.nats_user,
        password=settings.secret("nats_password"),
        name=name,
    )
    service = Service(name, settings, bus)
    await compose(service)
    await asyncio.sleep(0)  # the client sends subscriptions in the background
    await bus.client.flush()
    return service


def run(name: str, settings: ServiceSettings, compose: Compose) -> None:
    """Run a service as this process; returns after a clean stop."""
    telemetry.setup(name, settings.instance, settings.log_level, settings.otel_endpoint)

    async def main() -> None:
        service = await start(name, settings, compose)
        # What exists now stays: without this every full collection walks through all of it.
        gc.collect()
        gc.freeze()
        gc.set_threshold(GC_THRESHOLD, 20, 50)
        await service.run()

    uvloop.run(main())
