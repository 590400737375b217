"""``samovar ledger verify`` on a real database."""

import asyncpg
import pytest
from typer.testing import CliRunner

from samovar import ledger
from samovar.addresses import Addresses
from samovar.background import run
from samovar.errors import StackError

VERIFY = ("verify", "--url")


def test_sound_ledger_has_no_violation(infra: Addresses) -> None:
    url = infra.database_url("economy")

    result = CliRunner().invoke(ledger.app, [*VERIFY, url])

    assert ledger.verify(url) == []
    assert result.exit_code == 0
    assert "accounts" in result.output
    assert [line.split()[:2] for line in result.output.splitlines()[1:]] == [
        [f"I{number}", "ok"] for number in range(1, 10)
    ]


def test_violation_is_printed_and_makes_the_command_fail(infra: Addresses) -> None:
    async def change(amount: int) -> int:
        """Change a balance behind the triggers' back, as only a superuser can."""
        connection = await asyncpg.connect(infra.admin_url)
        try:
            await connection.execute("set search_path = economy")
            await connection.execute(
                "insert into account (kind, owner_id) values ('player', gen_random_uuid())"
            )
            await connection.execute("set session_replication_role = replica")
            changed = await connection.fetchval(
                """
                update account set balance = balance + $1
                where id = (select min(id) from account where kind = 'player')
                returning id
                """,
                amount,
            )
            return int(changed)
        finally:
            await connection.close()

    account_id = run(change(7))
    try:
        result = CliRunner().invoke(ledger.app, [*VERIFY, infra.database_url("economy")])
    finally:
        run(change(-7))

    assert result.exit_code == 1
    assert f"I4  account {account_id}: player" in result.output
    assert "I5  all accounts: sum 7" in result.output


def test_database_that_does_not_answer_is_one_clear_line() -> None:
    with pytest.raises(StackError, match="the ledger cannot be read"):
        ledger.verify("postgresql://nobody:nothing@127.0.0.1:1/samovar")
