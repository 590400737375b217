"""``samovar ledger verify``: the money of the whole database, recomputed from its rows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer
from rich.console import Console
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from economy.audit import INVARIANTS, Violation, count_rows, find_violations
from samovar import paths, state
from samovar.background import run
from samovar.embedded.stack import Infra
from samovar.errors import StackError
from shared.db import Database

app = typer.Typer(no_args_is_help=True, help="Looks after the ledger.")
out = Console(highlight=False)

TIMEOUT_S = 600
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        envvar="SAMOVAR_LEDGER_DATABASE_URL",
        help="postgresql:// URL of a role that can read economy; by default what 'up' runs.",
    ),
]


@app.callback()
def ledger() -> None:
    """Keep ``verify`` a command of its own, for more to come beside it."""


@app.command(name="verify")
def verify_command(url: DatabaseUrl = None) -> None:
    """Recompute invariants I1-I9 over the whole database; exit code 1 if one does not hold."""
    violations, counts = run(_audit(url or _running_url()))
    print_report(violations, counts)
    if violations:
        raise typer.Exit(1)


def verify(url: str) -> list[Violation]:
    """Recompute every invariant of the ledger in one snapshot and return what does not hold.

    Must not be called from a running event loop.

    Args:
        url: postgresql:// URL of a role that can read the schema ``economy``.

    Raises:
        StackError: if the database cannot be asked.
    """
    return run(_audit(url))[0]


def print_report(violations: Sequence[Violation], counts: Mapping[str, int]) -> None:
    """Print one line for each invariant, then each violation."""
    out.print("Ledger: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    tally = Counter(violation.invariant for violation in violations)
    for invariant in INVARIANTS:
        number = tally[invariant.name]
        verdict = "ok" if number == 0 else f"{number} violated"
        out.print(f"{invariant.name}  {verdict:<12}{invariant.title}", soft_wrap=True)
    for violation in violations:
        line = f"{violation.invariant}  {violation.subject}: {violation.detail}"
        out.print(line, markup=False, soft_wrap=True)


async def _audit(url: str) -> tuple[list[Violation], dict[str, int]]:
    db = Database.connect(url, name="samovar-ledger")
    try:
        async with db.transaction() as tx:
            await tx.execute(text("set transaction isolation level repeatable read, read only"))
            await tx.execute(text(f"set local statement_timeout = '{TIMEOUT_S}s'"))
            await tx.execute(text("set local search_path = economy"))
            return await find_violations(tx), await count_rows(tx)
    except (SQLAlchemyError, OSError) as error:
        cause = str(error).partition("\n")[0]
        raise StackError(f"the ledger cannot be read: {cause}") from error
    finally:
        await db.close()


def _running_url() -> str:
    recorded = state.read(paths.home())
    if recorded is None:
        raise StackError("Samovar does not run; start it with 'samovar up', or give --url")
    return Infra(paths.home(), fixed=recorded.ports).database_url("economy")
