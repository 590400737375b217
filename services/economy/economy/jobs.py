"""Background work: stakes that nobody cares for (J5, S5), and the audit of the ledger."""

import asyncio
from collections import Counter as Tally

import structlog
from prometheus_client import Counter, Gauge
from sqlalchemy import text

from economy import audit, recovery
from economy.domain.ledger import Stake
from economy.room_store import Game
from economy.rpc import push_balances
from economy.settings import Settings
from shared.bus import Bus
from shared.contracts.engine import ABANDON_GAME, GET_GAME, AbandonGame, GameStatus, GetGame
from shared.contracts.lobby import CHECK_SEAT, CheckSeat
from shared.db import Database
from shared.errors import UNKNOWN_OUTCOME, HoldFailed

RECOVERIES = Counter("samovar_economy_recoveries_total", "Repairs of the sweeper", ["crash_row"])
SILENT = Counter(
    "samovar_economy_unanswered_total", "Questions of the sweeper without an answer", ["owner"]
)
VIOLATIONS = Gauge("samovar_ledger_violations", "Violations found by the audit", ["invariant"])
AUDITED_AT = Gauge("samovar_ledger_audited_timestamp_seconds", "When the ledger was last audited")

AUDIT_TIMEOUT_S = 60

log = structlog.get_logger()


class Sweeper:
    """Finds overdue holds and unsettled games, asks their owners, and repairs.

    Looks at own tables only; every repair is idempotent, so replicas may sweep at the same time.
    """

    def __init__(self, db: Database, bus: Bus, settings: Settings) -> None:
        self._db = db
        self._bus = bus
        self._settings = settings

    async def tick(self) -> None:
        """Look once; a bounded number of each."""
        holds = await self._db.run(recovery.list_overdue_holds)
        await asyncio.gather(*(self._check_hold(stake) for stake in holds))
        games = await self._db.run(recovery.list_unsettled)
        await asyncio.gather(*(self._check_game(game) for game in games))

    async def _check_hold(self, stake: Stake) -> None:
        """J5: release the hold if lobby knows no seat that rests on it, else ask again later."""
        request = CheckSeat(hold_id=stake.hold_id, room_id=stake.room_id, player_id=stake.player_id)
        try:
            answer = await self._bus.call(CHECK_SEAT, request)
        except UNKNOWN_OUTCOME as error:
            SILENT.labels("lobby").inc()
            log.error("lobby is silent about a hold", hold_id=str(stake.hold_id), code=error.code)
        else:
            if not answer.needs_hold:
                await self._release(stake)
                return
        await self._db.run(
            lambda tx: recovery.extend_hold(tx, stake.hold_id, self._settings.hold_extension_s)
        )

    async def _release(self, stake: Stake) -> None:
        try:
            done = await self._db.run(lambda tx: recovery.release_orphan(tx, stake))
        except HoldFailed:
            return  # captured between question and answer
        if done.changed:
            RECOVERIES.labels("J5").inc()
            log.warning("orphan hold released", hold_id=str(stake.hold_id))
        await push_balances(self._bus, done.changed)

    async def _check_game(self, game: Game) -> None:
        """S5: a game that the engine does not know is abandoned; any other one will settle."""
        wait_s = self._settings.unsettled_after_s
        try:
            is_abandoned = await self._abandon_unknown(game)
        except UNKNOWN_OUTCOME as error:
            SILENT.labels("engine").inc()
            log.error("engine is silent about a game", game_id=str(game.game_id), code=error.code)
            is_abandoned = False
        if is_abandoned:
            RECOVERIES.labels("S5").inc()
            log.warning("unknown game abandoned", game_id=str(game.game_id))
            await self._db.run(lambda tx: recovery.record_abandoned(tx, game, wait_s))
        else:
            await self._db.run(lambda tx: recovery.postpone_check(tx, game.game_id, wait_s))

    async def _abandon_unknown(self, game: Game) -> bool:
        """Have the engine abandon the game if it does not know it; tell whether it did."""
        known = await self._bus.call(GET_GAME, GetGame(game_id=game.game_id))
        if known.status is not GameStatus.UNKNOWN:
            return False
        request = AbandonGame(
            game_id=game.game_id,
            room_id=game.room_id,
            has_stake=True,
            player_ids=game.holders,
        )
        answer = await self._bus.call(ABANDON_GAME, request)
        return answer.status is GameStatus.ABANDONED


class Auditor:
    """Recomputes the ledger now and then and exports what is wrong with it: nothing."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def tick(self) -> None:
        """Audit once, in one snapshot."""
        async with self._db.transaction() as tx:
            await tx.execute(text("set transaction isolation level repeatable read, read only"))
            await tx.execute(text(f"set local statement_timeout = '{AUDIT_TIMEOUT_S}s'"))
            found = await audit.find_violations(tx)
        tally = Tally(violation.invariant for violation in found)
        for invariant in audit.INVARIANTS:
            VIOLATIONS.labels(invariant.name).set(tally[invariant.name])
        AUDITED_AT.set_to_current_time()
        for violation in found:
            log.error(
                "ledger violation",
                invariant=violation.invariant,
                subject=violation.subject,
                detail=violation.detail,
            )
