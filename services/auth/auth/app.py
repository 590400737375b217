"""Builds the service from its settings."""

from datetime import timedelta
from pathlib import Path
from typing import cast

from auth import usecases
from auth.hasher import Hasher
from auth.http import create_app
from auth.jobs import Sweeper
from auth.keys import KeySet
from auth.limits import Limits
from auth.parts import Parts
from auth.rpc import Rpc
from auth.settings import Settings
from auth.tickets import Tickets
from auth.tokens import AccessTokens
from shared.clock import SystemClock
from shared.lifecycle import Service
from shared.ratelimit import RateLimiter

MIGRATIONS = Path(__file__).resolve().parents[1] / "migrations"


async def compose(service: Service) -> None:
    """Connect everything; ``shared.lifecycle`` runs it."""
    settings = cast(Settings, service.settings)
    keys = KeySet.load(settings.signing_keys_file)
    hasher = Hasher(settings.argon2, threads=settings.hash_threads, queue=settings.hash_queue)

    async def close_hasher() -> None:
        hasher.close()

    service.on_close(close_hasher)
    valkey = service.valkey()
    parts = Parts(
        db=await service.database(MIGRATIONS),
        bus=service.bus,
        hasher=hasher,
        keys=keys,
        tokens=AccessTokens(keys, settings.lifetimes),
        tickets=Tickets(valkey, settings.ticket_ttl_s),
        limits=Limits(RateLimiter(valkey), settings),
        life=settings.lifetimes,
        retention=timedelta(seconds=settings.retention_s),
        idempotency_ttl=timedelta(seconds=settings.idempotency_ttl_s),
        clock=SystemClock(),
    )
    now = parts.now()
    await parts.db.run(lambda tx: usecases.ensure_bots(tx, now))
    service.every("sweeper", settings.sweep_interval_s, Sweeper(parts).tick)
    await Rpc(parts).serve()
    service.http(create_app(parts), settings.http_host, settings.http_port)
