"""The composition root: builds everything and registers what runs."""

import asyncio
import contextlib
import random
from dataclasses import dataclass

from realtime import frames
from realtime.backend import Backend, Moves
from realtime.background import Background
from realtime.commands import Commands
from realtime.connection import Connection, Gateway
from realtime.feeds import Feeds
from realtime.gatekeeper import Gatekeeper
from realtime.hub import Hub
from realtime.limits import PlayerMeters, new_session
from realtime.presence import Presence
from realtime.pushes import Pushes
from realtime.reception import Reception
from realtime.rest.access import Facade
from realtime.rest.facade import create_facade
from realtime.resync import Resync
from realtime.settings import Settings
from realtime.strangers import Proxies, Strangers
from realtime.wire import FLOOD, RESTART, Wire
from realtime.wires.native import NativeWire
from shared.bus.requester import Requester
from shared.clock import SystemClock
from shared.ids import new_id
from shared.lifecycle import Service
from shared.ratelimit import RateLimiter

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
    strangers = Strangers(
        settings.unauthenticated_sockets, settings.unauthenticated_sockets_per_address
    )
    hub = Hub(settings.sockets_per_player, strangers, PlayerMeters(settings))
    gatekeeper = Gatekeeper(backend, SystemClock())
    presence = Presence(valkey, bus, hub, str(new_id()), settings.presence_ttl_s)
    feeds = Feeds(
        bus=bus,
        backend=backend,
        hub=hub,
        background=background,
        absent=presence.absent,
        now=SystemClock(),
        gap_hold_s=settings.gap_hold_s,
    )
    pushes = Pushes(bus, hub, feeds, gatekeeper, background)
    core = _Core(settings, background, backend, moves, hub, gatekeeper, presence, feeds, pushes)
    service.checks["sessions"] = gatekeeper.check
    service.on_close(background.close)
    service.on_close(moves.stop)
    await pushes.start()
    await bus.announce()  # the engine stops the players' clocks while no gateway answers
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

    def connect(wire: Wire, address: str) -> Connection:
        connection = Connection(wire, gateway, new_session(settings))
        if not hub.arrive(connection, address):
            connection.close(FLOOD, "too many connections")
        return connection

    def is_accepting() -> bool:
        return core.gatekeeper.loaded.is_set() and not service.stopping.is_set()

    proxies = Proxies(settings.trusted_proxies)
    native = NativeWire(connect, settings.origins, proxies, is_accepting)

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


def _say_goodbye(hub: Hub, spread_ms: int) -> None:
    """Ask every client to come back, not all at the same moment, and hang up."""
    for connection in list(hub.sockets):
        pause_ms = random.randrange(spread_ms + 1)  # noqa: S311  # a spread, not a secret
        connection.send_frame(
            frames.notice("RESTART", "The server restarts.", reconnect_after_ms=pause_ms)
        )
        connection.close(RESTART, "restart")
