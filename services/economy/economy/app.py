"""Composition of economy: what is built from what, and what runs."""

from pathlib import Path

from economy.jobs import Auditor, Sweeper
from economy.rpc import Economy
from economy.settings import Settings
from shared.bus.outbox import Relay
from shared.lifecycle import Service

MIGRATIONS = Path(__file__).parents[1] / "migrations"


async def compose(service: Service) -> None:
    """Serve the commands, relay the outbox, sweep and audit."""
    settings = service.settings
    if not isinstance(settings, Settings):
        raise TypeError("economy runs with its own settings")
    db = await service.database(MIGRATIONS)
    service.job("outbox", Relay(db, service.bus).run)
    service.every("sweeper", settings.sweep_interval_s, Sweeper(db, service.bus, settings).tick)
    service.every("auditor", settings.audit_interval_s, Auditor(db).tick)
    await Economy(db, service.bus, settings).serve()
