from datetime import timedelta

from sqlalchemy import text

from lobby import journal
from services.lobby.tests.integration.world import World, eventually
from shared.db import Database
from shared.ids import new_id


async def add_old_requests(db: Database, count: int) -> None:
    """Add requests of two days ago, as many players have sent them."""
    room_id = new_id()
    async with db.transaction() as tx:
        await tx.execute(
            text("""
                insert into room (room_id, game_id, game, mode, players_count, turn_seconds,
                  is_private, payout_config_version, created_at, expires_at)
                values (:room_id, :room_id, 'durak', 'throw_in', 2, 30, false, 1, now(),
                  now() + interval '1 hour')
            """),
            {"room_id": room_id},
        )
        await tx.execute(
            text("""
                insert into join_request
                  (player_id, request_id, body_hash, room_id, outcome, created_at)
                select gen_random_uuid(), gen_random_uuid(), '', :room_id, 'taken',
                  now() - interval '2 days'
                from generate_series(1, :count)
            """),
            {"room_id": room_id, "count": count},
        )


async def test_old_requests_are_forgotten_and_new_ones_kept(world: World) -> None:
    await add_old_requests(world.db, journal.PURGE_BATCH + 1)
    await world.start()
    bob, request_id = new_id(), new_id()
    room = await world.create(new_id())
    await world.join(bob, room.room_id, request_id)

    async def are_gone() -> bool:
        old = "created_at < now() - interval '1 day'"
        return not await world.rows(f"select request_id from join_request where {old} limit 1")

    await eventually(are_gone)
    assert (await world.join(bob, room.room_id, request_id)).room_id == room.room_id


async def test_one_statement_forgets_a_batch_at_most(db: Database) -> None:
    await add_old_requests(db, 2 * journal.PURGE_BATCH + 1)

    forgotten = [
        await db.run(lambda tx: journal.purge_requests(tx, timedelta(days=1))) for _ in range(4)
    ]

    assert forgotten == [journal.PURGE_BATCH, journal.PURGE_BATCH, 1, 0]
