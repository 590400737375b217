"""The ledger: accounts, transfers, holds, settlements, payout tables, and what guards them."""

from pathlib import Path

from alembic import op

from shared.bus.outbox import MESSAGING_DDL, messaging_grants

revision = "0001"
down_revision = None

FILES = ("tables", "guards", "transfers", "rooms", "payout_config", "views", "grants")


def upgrade() -> None:
    folder = Path(__file__).with_name("0001")
    for name in FILES:
        _run((folder / f"{name}.sql").read_text())
    _run(MESSAGING_DDL)
    _run(messaging_grants("economy"))


def _run(statements: str) -> None:
    # asyncpg prepares each statement, so they go one by one; function bodies stand between $$.
    statement = ""
    for line in statements.splitlines(keepends=True):
        if not line.startswith("--"):
            statement += line
        if line.rstrip().endswith(";") and statement.count("$$") % 2 == 0:
            op.execute(statement)
            statement = ""
