"""Metrics that every service has. Labels are bounded: names from contracts and error codes."""

from prometheus_client import Counter, Gauge, Histogram

RPC_SECONDS = Histogram(
    "samovar_rpc_seconds",
    "Time to answer a command",
    ["command", "code"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
)
PUSHES_LOST = Counter("samovar_pushes_lost_total", "Pushes that could not be sent")
BUS_DENIED = Counter("samovar_bus_denied_total", "Messages that NATS refused by permissions")
BUS_SLOW = Counter("samovar_bus_slow_consumer_total", "Slow-consumer errors of the NATS client")
OUTBOX_SENT = Counter("samovar_outbox_sent_total", "Outbox messages delivered", ["name"])
OUTBOX_RETRIES = Counter("samovar_outbox_retries_total", "Outbox messages to repeat", ["name"])
OUTBOX_AGE = Gauge("samovar_outbox_oldest_seconds", "Age of the oldest undelivered message")
DEAD_LETTERS = Counter("samovar_dead_letters_total", "Messages given up", ["source"])
DEAD_LETTERS_WAITING = Gauge("samovar_dead_letters_waiting", "Messages given up, not replayed")
CONSUMED = Counter("samovar_events_consumed_total", "Events handled", ["outcome"])
DB_RETRIES = Counter("samovar_db_retries_total", "Transactions run again", ["cause"])
JOB_FAILURES = Counter("samovar_job_failures_total", "Background jobs that raised", ["job"])
