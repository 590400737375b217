"""The stream of facts and its durable consumers; made by the ``bootstrap`` user, idempotently."""

import asyncio
from typing import Final

import nats
from nats.errors import Error as NatsError
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DeliverPolicy,
    DiscardPolicy,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)
from nats.js.errors import NotFoundError

from samovar.errors import StackError
from shared.contracts.walls import CONSUMERS, STREAM

_DAY_S: Final = 24 * 60 * 60
STREAM_CONFIG: Final = StreamConfig(
    name=STREAM,
    subjects=["evt.>"],
    retention=RetentionPolicy.LIMITS,
    storage=StorageType.FILE,
    max_age=7 * _DAY_S,
    max_bytes=1024 * 1024 * 1024,
    discard=DiscardPolicy.OLD,
    # A relay that did not hear the acknowledgement publishes again, at once or after a restart.
    duplicate_window=10 * 60,
)


def consumer_config(durable: str) -> ConsumerConfig:
    """Return the configuration of one service's consumer: redelivered until acknowledged."""
    return ConsumerConfig(
        durable_name=durable,
        filter_subjects=list(CONSUMERS[durable]),
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=30,
        max_deliver=-1,
        max_ack_pending=1000,
        deliver_policy=DeliverPolicy.ALL,
    )


async def create_streams(url: str, password: str, timeout_s: float) -> None:
    """Create or update the stream and every consumer.

    Raises:
        StackError: if NATS cannot be reached or refuses.
    """
    try:
        await asyncio.wait_for(_create(url, password), timeout_s)
    except (NatsError, OSError, TimeoutError) as error:
        raise StackError(f"cannot create the event stream in NATS at {url}: {error!r}") from error


async def _create(url: str, password: str) -> None:
    connection = await nats.connect(
        url,
        user="bootstrap",
        password=password,
        name="bootstrap",
        inbox_prefix=b"_INBOX_bootstrap",
        allow_reconnect=False,
        connect_timeout=5,
    )
    try:
        streams = connection.jetstream(timeout=5)
        try:
            await streams.stream_info(STREAM)
            await streams.update_stream(STREAM_CONFIG)
        except NotFoundError:
            await streams.add_stream(STREAM_CONFIG)
        for durable in CONSUMERS:
            # Creating a consumer that exists updates it.
            await streams.add_consumer(STREAM, consumer_config(durable))
    finally:
        await connection.close()
