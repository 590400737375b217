"""Composition of the game engine."""

from pathlib import Path
from typing import Final

from game_engine import consumers
from game_engine.batch import Batcher
from game_engine.clock import DatabaseClock
from game_engine.connection import Connection
from game_engine.deadlines import Heartbeat, Scanner
from game_engine.jobs import SettlementSweeper
from game_engine.rpc import EngineRpc
from game_engine.settings import EngineSettings
from shared.bus.consumer import Consumer
from shared.bus.outbox import Relay
from shared.contracts.engine import ACT, BOT_ACT
from shared.errors import InvariantBrokenError
from shared.lifecycle import Service

MIGRATIONS: Final = Path(__file__).resolve().parents[1] / "migrations"


async def compose(service: Service) -> None:
    """Build everything. Nothing is served before the outages are known."""
    settings = service.settings
    if not isinstance(settings, EngineSettings):
        raise InvariantBrokenError("the engine has settings of its own")
    bus = service.bus
    db = await service.database(MIGRATIONS)
    clock = DatabaseClock()
    heartbeat = Heartbeat(db, bus, clock)
    await heartbeat.ensure_known()
    service.job("heartbeat", heartbeat.run)

    relay = Relay(db, bus)
    service.job("outbox", relay.run)
    consumer = Consumer(db, bus, "game_engine")
    consumers.register(consumer, clock)
    service.job("consumer", consumer.run)
    sweeper = SettlementSweeper(db, bus, clock, settings.sweep_interval_s)
    service.every("sweeper", settings.sweep_interval_s, sweeper.sweep)

    url = settings.secret("database_url")
    writer = Connection(url, "game_engine moves")
    batcher = Batcher(writer, bus, heartbeat, settings, relay.wake)
    service.job("batches", batcher.run)
    service.on_drain(batcher.close_when_empty)
    service.on_close(writer.close)
    looker = Connection(url, "game_engine deadlines")
    scanner = Scanner(looker, heartbeat, settings, batcher.expire)
    service.job("deadlines", scanner.run)
    service.on_close(looker.close)

    await EngineRpc(db, bus, clock, heartbeat).serve()
    await bus.serve_deferred(ACT, batcher.accept_player)
    await bus.serve_deferred(BOT_ACT, batcher.accept_bot)
