"""Metrics of the engine; outcomes are the registry's codes, OK, and LATE (the caller gave up)."""

from prometheus_client import Counter, Histogram

COMMANDS = Counter("samovar_engine_commands_total", "Commands answered", ["outcome"])
ACCEPTED = COMMANDS.labels("OK")
RACES = Counter("samovar_engine_lost_races_total", "Commands judged again")
BATCHED = Counter("samovar_engine_batched_total", "Commands and expiries put into batches")
BATCH_SECONDS = Histogram(
    "samovar_engine_batch_seconds",
    "Time of one batch, from load to pushes",
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
)
