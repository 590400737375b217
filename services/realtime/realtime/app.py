"""The composition root: builds everything and registers what runs."""

import asyncio
import contextlib
import random
from dataclasses import dataclass

from realtime import frames
from realtime.backend import Backend, Moves
from realtime.background import Background
from realtime.commands import Commands
from realtime.connection import Connection, Gateway, Wire
from realtime.domain.session import Meters, Session
from realtime.feeds import Feeds
from realtime.gatekeeper import Gatekeeper
from realtime.hub import Hub
from realtime.presence import Presence
from realtime.pushes import Pushes
from realtime.reception import RESTART, Reception
from realtime.rest.access import Facade
from realtime.rest.facade import create_facade
from realtime.resync import Resync
from realtime.settings import Settings
from realtime.wires.native import NativeWire
from shared.bus.requester import Requester
from shared.clock import SystemClock
from shared.ids import new_id
from shared.lifecycle import Service
from shared.ratelimit import Bucket, Limit, RateLimiter

DRAIN_MOVES_S = 1.0  # for the replies of moves that are under way


@dataclass(frozen=True, slots=True)
class _Core:
    """What both the sockets and REST work with."""

    settings: Settings
    background: Background
    backend: Backend
    moves: Moves
    hub: Hub
    gatekeeper: Gatekeeper
    presence: Presence
    feeds: Feeds
    pushes: Pushes


async def compose(service: Service) -> None:
    """Build the gateway: sockets on one port, REST on another, one process and loop."""
    settings = service.settings
    if not isinstance(settings, Settings):
        raise TypeError("the gateway needs its own settings")
    valkey = service.valkey()
    bus = service.bus
    background = Background("background")
    backend = Backend(bus, settings.ask_patience_s)
    requester = await Requester.start(bus, timeout_s=settings.act_timeout_s)
    moves = Moves(requester, settings.act_patience_s)
    hub = Hub(settings.sockets_per_player)
    gatekeeper = Gatekeeper(backend, SystemClock())
    presence = Presence(valkey, bus, hub, str(new_id()), settings.presence_ttl_s)
    feeds = Feeds(
        bus=bus,
        backend=backend,
        hub=hub,
        background=background,
        absent=presence.absent,
        gap_hold_s=settings.gap_hold_s,
    )
    pushes = Pushes(bus, hub, feeds, gatekeeper, background)
    core = _Core(settings, background, backend, moves, hub, gatekeeper, presence, feeds, pushes)
    service.checks["sessions"] = gatekeeper.check
    service.on_close(background.close)
    service.on_close(moves.stop)
    await pushes.start()
    await _serve_sockets(service, core)
    facade = Facade(backend, moves, feeds, gatekeeper, RateLimiter(valkey), settings)
    service.http(create_facade(facade), settings.http_host, settings.http_port)
    _run_jobs(service, core)


async def _serve_sockets(service: Service, core: _Core) -> None:
    clock = SystemClock()
    hub, settings = core.hub, core.settings
    reception = Reception(
        settings=settings,
        gatekeeper=core.gatekeeper,
        hub=hub,
        feeds=core.feeds,
        pushes=core.pushes,
        presence=core.presence,
        backend=core.backend,
        background=core.background,
        now=clock,
    )
    commands = Commands(hub, core.feeds, core.moves, core.background, clock)
    gateway = Gateway(
        settings, hub.mark, reception.authenticate, commands.dispatch, reception.leave
    )

    def connect(wire: Wire) -> Connection:
        connection = Connection(wire, gateway, _session(settings))
        hub.sockets.add(connection)
        return connection

    def is_accepting() -> bool:
        return core.gatekeeper.loaded.is_set() and not service.stopping.is_set()

    native = NativeWire(connect, settings.origins, is_accepting)

    async def drain() -> None:
        native.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_MOVES_S):
                while core.moves.under_way:  # noqa: ASYNC110  # an event would cost every move
                    await asyncio.sleep(0.02)
        _say_goodbye(hub, settings.restart_spread_ms)

    service.on_drain(drain)
    await native.start(settings.http_host, settings.ws_port)


def _run_jobs(service: Service, core: _Core) -> None:
    settings = core.settings
    resync = Resync(
        core.hub, core.feeds, core.pushes, core.gatekeeper, core.backend,
        interval_s=settings.resync_interval_s, grace_s=settings.gap_hold_s,
    )  # fmt: skip

    async def refresh_presence() -> None:
        await core.presence.refresh()
        await core.presence.recheck(core.feeds)

    async def heartbeat() -> None:
        for connection in list(core.hub.sockets):
            connection.heartbeat()

    service.bus.on_reconnect.append(resync.after_reconnect)
    service.on_drain(resync.after_reconnect)  # wakes it, so that it sees the end
    service.every("revoked", settings.revoked_reload_s, resync.reload_revoked)
    service.every("presence-refresh", settings.presence_ttl_s / 3, refresh_presence)
    service.every("heartbeat", settings.heartbeat_interval_s, heartbeat)
    service.job("presence", core.presence.run)
    service.job("resync", resync.run)


def _session(settings: Settings) -> Session:
    def per_minute(name: str, count: int) -> Bucket:
        return Bucket(Limit(name, count, 60, max(1, count - 1)))

    burst, rate = settings.commands_burst, settings.commands_per_s
    states = settings.state_requests_per_s
    meters = Meters(
        commands=Bucket(Limit("commands", burst, burst / rate, burst)),
        states=Bucket(Limit("states", 1, 1 / states, max(1, round(states)))),
        refusals=per_minute("refusals", settings.refusals_per_minute),
        bad_frames=per_minute("bad frames", settings.bad_frames_per_minute),
    )
    return Session(meters, settings.watched_games)


def _say_goodbye(hub: Hub, spread_ms: int) -> None:
    """Ask every client to come back, not all at the same moment, and hang up."""
    for connection in list(hub.sockets):
        pause_ms = random.randrange(spread_ms + 1)  # noqa: S311  # a spread, not a secret
        connection.send_frame(
            frames.notice("RESTART", "The server restarts.", reconnect_after_ms=pause_ms)
        )
        connection.close(RESTART, "restart")
