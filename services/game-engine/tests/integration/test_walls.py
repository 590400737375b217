"""What the database refuses, whoever asks."""

import asyncpg
import pytest


@pytest.mark.parametrize(
    "statement",
    [
        "update game_event set payload = ''",
        "delete from game_event",
        "truncate game_event",
        "update game set seed = ''",
        "update game set players = '{}'",
        "update game set commitment = ''",
        "delete from game",
        "delete from outage",
        "create table mine (id int)",
        "select * from economy.account",
        "select * from game_events",
    ],
)
async def test_the_runtime_role_cannot(platform, running, statement):
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await platform.sql(statement, url=platform.infra.database_url("engine"))


@pytest.mark.parametrize(
    "statement",
    ["update game_event set payload = ''", "delete from game_event", "truncate game_event"],
)
async def test_events_are_immutable_for_their_owner_too(platform, running, rng, statement):
    await platform.new_table()

    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await platform.sql(statement)


async def test_an_auditor_reads_the_shape_of_the_specification(platform, running, rng):
    table = await platform.new_table()
    await table.play_out(rng)

    rows = await platform.sql(
        "select sequence, player_id, event_type, payload from game_events"
        " where game_id = $1 order by sequence",
        table.game_id,
    )

    assert [row["event_type"] for row in rows[:5]] == [
        "GAME_CREATED", "PLAYER_JOINED", "PLAYER_JOINED", "GAME_STARTED", "DEAL",
    ]  # fmt: skip
    assert rows[1]["player_id"] == table.players[0]


async def test_moves_are_heap_only_updates(platform, running, rng):
    """An index on anything that a move changes would double its price."""
    indexed = await platform.sql(
        """
        select distinct a.attname from pg_index i
        join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
        where i.indrelid = 'game'::regclass
        """
    )

    moved = {"sequence", "revision", "fresh_from", "snapshot", "deadline_ms", "updated_ms"}
    assert not moved & {row["attname"] for row in indexed}
