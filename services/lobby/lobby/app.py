"""Composition root of the lobby: builds and connects everything."""

from pathlib import Path

from lobby import consumers
from lobby.jobs import PURGE_INTERVAL_S, Starter, Sweeper
from lobby.notices import Notices
from lobby.orchestrator import Orchestrator
from lobby.partners import Partners
from lobby.rpc import Handlers
from lobby.settings import Settings
from shared.bus.consumer import Consumer
from shared.bus.outbox import Relay
from shared.lifecycle import Service

MIGRATIONS = Path(__file__).parents[1] / "migrations"
DURABLE = "lobby"


async def compose(service: Service) -> None:
    """Connect the lobby's parts and begin to serve."""
    settings = service.settings
    if not isinstance(settings, Settings):
        raise TypeError("the lobby needs its own settings")
    db = await service.database(MIGRATIONS)
    partners = Partners(service.bus, settings.hold_attempt_s, settings.call_attempt_s)
    notices = Notices(service.bus)
    orchestrator = Orchestrator(db, partners, notices, settings.limits)
    starter = Starter(orchestrator)
    sweeper = Sweeper(db, orchestrator, settings.patience)
    consumer = Consumer(db, service.bus, DURABLE)
    consumers.register(consumer, notices)

    service.job("outbox", Relay(db, service.bus).run)
    service.job("consumer", consumer.run)
    service.job("starter", starter.run)
    service.every("sweeper", settings.sweep_interval_s, sweeper.tick)
    service.every("purge", PURGE_INTERVAL_S, sweeper.purge)
    handlers = Handlers(
        db=db,
        partners=partners,
        notices=notices,
        orchestrator=orchestrator,
        starter=starter,
        limits=settings.limits,
    )
    await handlers.serve(service.bus)
