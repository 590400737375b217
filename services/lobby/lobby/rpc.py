"""The lobby's commands. Requests for a seat are answered as soon as the seat is decided."""

import hashlib
import json
import secrets
from uuid import UUID

from lobby import queries, usecases
from lobby.changes import Candidate
from lobby.domain.join_code import CODE_BYTES, normalise, to_code
from lobby.domain.room import Room, RoomStatus
from lobby.domain.saga import Do
from lobby.domain.terms import Terms
from lobby.jobs import Starter
from lobby.journal import Request
from lobby.notices import Notices
from lobby.orchestrator import Orchestrator
from lobby.partners import Partners
from lobby.settings import Limits
from lobby.usecases import Draft, Seating
from lobby.views import view
from shared import failpoints
from shared.bus import Bus
from shared.contracts import lobby as contract
from shared.contracts.base import Message
from shared.db import Database
from shared.ids import HoldId, RoomId, new_id


class Handlers:
    """Serves every command of ``shared.contracts.lobby``."""

    def __init__(
        self,
        *,
        db: Database,
        partners: Partners,
        notices: Notices,
        orchestrator: Orchestrator,
        starter: Starter,
        limits: Limits,
    ) -> None:
        self._db = db
        self._partners = partners
        self._notices = notices
        self._orchestrator = orchestrator
        self._starter = starter
        self._limits = limits

    async def serve(self, bus: Bus) -> None:
        """Begin to answer."""
        await bus.serve(contract.CREATE_ROOM, self.create_room)
        await bus.serve(contract.JOIN_ROOM, self.join_room)
        await bus.serve(contract.JOIN_BY_CODE, self.join_by_code)
        await bus.serve(contract.ADD_BOT, self.add_bot)
        await bus.serve(contract.LEAVE_ROOM, self.leave_room)
        await bus.serve(contract.GET_ROOM, self.get_room)
        await bus.serve(contract.LIST_ROOMS, self.list_rooms)
        await bus.serve(contract.LIST_PLAYER_ROOMS, self.list_player_rooms)
        await bus.serve(contract.CHECK_SEAT, self.check_seat)

    # --- seats -----------------------------------------------------------------------------------

    async def create_room(self, command: contract.CreateRoom) -> contract.RoomView:
        """Idempotent by (player, request_id)."""
        who = await self._candidate(command)
        draft = Draft(_terms(command), RoomId(new_id()), to_code(secrets.token_bytes(CODE_BYTES)))
        seating = await self._db.run(lambda tx: usecases.create_room(tx, who, draft, self._limits))
        return await self._decide(seating, who.request)

    async def join_room(self, command: contract.JoinRoom) -> contract.RoomView:
        """Idempotent by (player, request_id)."""
        who = await self._candidate(command)
        seating = await self._db.run(
            lambda tx: usecases.join_room(tx, who, command.room_id, self._limits)
        )
        return await self._decide(seating, who.request)

    async def join_by_code(self, command: contract.JoinByCode) -> contract.RoomView:
        """Idempotent by (player, request_id)."""
        who = await self._candidate(command)
        code = normalise(command.join_code)
        seating = await self._db.run(lambda tx: usecases.join_by_code(tx, who, code, self._limits))
        return await self._decide(seating, who.request)

    async def add_bot(self, command: contract.AddBot) -> contract.RoomView:
        """Idempotent by (player, request_id)."""
        bots = await self._partners.bots()
        # Rooms begin at different bots, so that one bot does not play everywhere.
        first = command.room_id.int % len(bots) if bots else 0
        request = _request(command)
        seating = await self._db.run(
            lambda tx: usecases.add_bot(
                tx, request, bots[first:] + bots[:first], command.room_id, self._limits
            )
        )
        return await self._decide(seating, request)

    async def leave_room(self, command: contract.LeaveRoom) -> contract.RoomView:
        """Idempotent: leaving twice changes nothing."""
        room, change = await self._db.run(
            lambda tx: usecases.leave_room(tx, command.player_id, command.room_id)
        )
        failpoints.hit("lobby.leave.decided")
        await self._notices.tell(change)
        return view(room, command.player_id)

    async def _candidate(
        self, command: contract.CreateRoom | contract.JoinRoom | contract.JoinByCode
    ) -> Candidate:
        player = await self._partners.player(command.player_id, is_guest=command.is_guest)
        return Candidate(_request(command), player, HoldId(new_id()))

    async def _decide(self, seating: Seating, request: Request) -> contract.RoomView:
        """Wait until the seat is taken or refused; a full room then starts in the background."""
        await self._notices.tell(seating.change)
        room = seating.room
        if seating.open_hold is not None:
            failpoints.hit("lobby.join.seat_reserved")
            room = await self._stake(room.room_id, seating.open_hold, request)
        failpoints.hit("lobby.join.seat_taken")
        if room.status is RoomStatus.STARTING:
            self._starter.submit(room.room_id)
        return view(room, request.player_id)

    async def _stake(self, room_id: UUID, hold_id: HoldId, request: Request) -> Room:
        last = await self._orchestrator.take_seat(room_id, hold_id)
        if last.step.do is Do.TAKE_SEAT and last.room is not None:
            return last.room
        # Refused, given up, or decided by somebody else: the stored outcome tells.
        return (await self._db.run(lambda tx: usecases.outcome(tx, request))).room

    # --- questions -------------------------------------------------------------------------------

    async def get_room(self, query: contract.GetRoom) -> contract.RoomView:
        room = await self._db.run(lambda tx: queries.get_room(tx, query.room_id, query.player_id))
        return view(room, query.player_id)

    async def list_rooms(self, query: contract.ListRooms) -> contract.Rooms:
        rooms, cursor = await self._db.run(lambda tx: queries.list_rooms(tx, query))
        return contract.Rooms(rooms=tuple(view(room, None) for room in rooms), next_cursor=cursor)

    async def list_player_rooms(self, query: contract.ListPlayerRooms) -> contract.Rooms:
        rooms = await self._db.run(lambda tx: queries.list_player_rooms(tx, query.player_id))
        return contract.Rooms(rooms=tuple(view(room, query.player_id) for room in rooms))

    async def check_seat(self, query: contract.CheckSeat) -> contract.SeatAnswer:
        answer = await self._db.run(lambda tx: queries.needs_hold(tx, query))
        return contract.SeatAnswer(needs_hold=answer)


def _request(
    command: contract.CreateRoom | contract.JoinRoom | contract.JoinByCode | contract.AddBot,
) -> Request:
    return Request(command.player_id, command.request_id, _body_hash(command))


def _body_hash(command: Message) -> bytes:
    """Hash what a request asks for; who asks is known from the session and not part of it."""
    body = command.model_dump(mode="json", exclude={"player_id", "request_id", "is_guest"})
    content = json.dumps([type(command).__name__, body], sort_keys=True)
    return hashlib.sha256(content.encode()).digest()


def _terms(command: contract.CreateRoom) -> Terms:
    return Terms(
        game=command.game,
        mode=command.mode,
        players_count=command.players_count,
        bet=command.bet,
        turn_seconds=command.turn_seconds,
        is_private=command.is_private,
    )
