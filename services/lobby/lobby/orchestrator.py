"""Drives rooms from step to step: a transaction, or a call, then the question again.

It keeps nothing of its own between steps, so it may be killed at any line: whoever drives the room
next (a repeated request, the sweeper, another replica) asks the same brain the same question.
"""

import asyncio
from uuid import UUID

from prometheus_client import Counter

from lobby import store, usecases
from lobby.domain.room import SeatState
from lobby.domain.saga import CALLS, Do, Facts
from lobby.notices import Notices
from lobby.partners import Partners
from lobby.settings import Limits
from lobby.usecases import Advance
from shared import failpoints
from shared.db import Database

RECOVERIES = Counter(
    "samovar_lobby_recoveries_total", "Repairs by the sweeper, by row of the crash table", ["row"]
)
PAUSE_MIN_S = 0.1
PAUSE_MAX_S = 1.0

_REACHED = {
    Do.PLACE_HOLD: "lobby.join.hold_placed",
    Do.CAPTURE_HOLDS: "lobby.start.captured",
    Do.CREATE_GAME: "lobby.start.created",
}


class Orchestrator:
    """The sagas of joining and of starting."""

    def __init__(self, db: Database, partners: Partners, notices: Notices, limits: Limits) -> None:
        self._db = db
        self._partners = partners
        self._notices = notices
        self._limits = limits

    async def take_seat(self, room_id: UUID, hold_id: UUID) -> Advance:
        """Bring a reserved seat to its end: taken, or dropped at the hold's deadline."""
        return await self._drive(room_id, Facts(hold_id=hold_id), attempts=None)

    async def start(self, room_id: UUID, attempts: int) -> None:
        """Bring a starting room as far as the others answer."""
        failpoints.hit("lobby.start.starting")
        await self._drive(room_id, Facts(), attempts)

    async def recover(self, room_id: UUID) -> None:
        """Continue a room that stands still: first its reserved seats, then the room itself."""
        room = await self._db.run(lambda tx: store.find_room(tx, room_id))
        for seat in room.seats if room is not None else ():
            if seat.hold is not None and seat.state is SeatState.RESERVED:
                facts = Facts(hold_id=seat.hold.hold_id)
                await self._drive(room_id, facts, attempts=1, is_recovery=True)
        await self._drive(room_id, Facts(), attempts=1, is_recovery=True)

    async def _drive(
        self, room_id: UUID, facts: Facts, attempts: int | None, *, is_recovery: bool = False
    ) -> Advance:
        """Go on until the room rests, the seat in focus is decided, or nobody answers.

        Args:
            room_id: The room.
            facts: What is known; ``hold_id`` set: only this seat matters.
            attempts: Calls without an answer before giving up; None: until a deadline of the
                room decides.
            is_recovery: Record changes as repairs.
        """
        failures = 0
        while True:
            advance = await self._advance(room_id, facts, is_recovery)
            step, room = advance.step, advance.room
            if room is None or step.do is Do.REST:
                return advance
            if facts.hold_id is not None and step.do is not Do.PLACE_HOLD:
                return advance
            if step.do not in CALLS:
                continue
            learnt = await self._partners.call(room, step, facts)
            if learnt is not None:
                facts = learnt
                if step.do in _REACHED:
                    failpoints.hit(_REACHED[step.do])
                continue
            failures += 1
            if attempts is not None and failures >= attempts:
                return advance
            await asyncio.sleep(min(PAUSE_MIN_S * 2 ** (failures - 1), PAUSE_MAX_S))

    async def _advance(self, room_id: UUID, facts: Facts, is_recovery: bool) -> Advance:
        advance = await self._db.run(
            lambda tx: usecases.advance(tx, room_id, facts, self._limits, is_recovery=is_recovery)
        )
        if advance.change is not None:
            await self._notices.tell(advance.change)
            if is_recovery:
                RECOVERIES.labels(advance.step.row).inc()
        return advance
