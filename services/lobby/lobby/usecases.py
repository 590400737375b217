"""What may happen to rooms: one transaction each, no network inside, safe to run twice.

Calls that must follow a decision (giving stakes back) go into the outbox of the same transaction.
"""

from dataclasses import dataclass, replace
from uuid import UUID

from lobby import changes, journal, store
from lobby.changes import Candidate, Change
from lobby.domain.room import (
    Player,
    Room,
    RoomChange,
    RoomStatus,
    Seat,
    check_bot_asker,
    check_join,
    check_stake,
    check_visible,
    check_waiting,
    seat_to_leave,
)
from lobby.domain.saga import CHANGES, REST, Do, Facts, Step, next_step
from lobby.domain.terms import Terms, check_terms
from lobby.journal import TAKEN, Request
from lobby.settings import Limits
from shared.contracts.economy import FinishKind
from shared.db import Tx
from shared.errors import (
    HoldFailed,
    IdempotencyMismatch,
    InvariantBrokenError,
    RoomNotFound,
    Unavailable,
    from_code,
)
from shared.ids import HoldId, RoomId, game_of_room


@dataclass(frozen=True, slots=True)
class Seating:
    """The answer to a request for a seat.

    ``open_hold`` is set while the stake's outcome is not known; ``change`` is None when the
    request was known already.
    """

    room: Room
    open_hold: HoldId | None
    change: Change | None


@dataclass(frozen=True, slots=True)
class Advance:
    """The step that was due, and the room before a call or after a change."""

    step: Step
    room: Room | None
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A room to open. Id and code are made before the transaction, which may run twice.

    The code is used only if the room is private.
    """

    terms: Terms
    room_id: RoomId
    join_code: str


async def create_room(tx: Tx, who: Candidate, draft: Draft, limits: Limits) -> Seating:
    """Open a room and seat its maker. Idempotent by (player, request_id).

    Raises:
        InvalidRequest, InvalidBet, Forbidden, RateLimited, IdempotencyMismatch, or the code of a
            refused stake.
    """
    terms = draft.terms
    check_terms(terms)
    player_id = who.player.player_id
    await store.lock_player(tx, player_id)
    known = await _known(tx, who.request)
    if known is not None:
        return known
    check_stake(terms, who.player.kind)
    check_waiting(who.player, await store.count_waiting(tx, player_id), limits.waiting_rooms)
    now = await store.now(tx)
    room = Room(
        room_id=draft.room_id,
        game_id=game_of_room(draft.room_id),
        terms=terms,
        join_code=draft.join_code if terms.is_private else None,
        payout_config_version=limits.payout_config_version,
        status=RoomStatus.WAITING,
        seats=(),
        created_at=now,
        expires_at=now + limits.room_ttl,
        starting_at=None,
        captured_at=None,
        settled_at=None,
        version=1,
    )
    await store.insert_room(tx, room)
    change = await changes.sit_down(tx, room, 0, who, limits)
    return _seated(replace(change, was_listed=False), who)


async def join_room(tx: Tx, who: Candidate, room_id: UUID, limits: Limits) -> Seating:
    """Take or reserve the lowest free seat. Idempotent by (player, request_id).

    Raises:
        RoomNotFound, AlreadyJoined, RoomStarted, RoomFull, Forbidden, RateLimited,
            IdempotencyMismatch, or the code of a refused stake.
    """
    return await _join(tx, who, room_id, limits, is_invited=False)


async def join_by_code(tx: Tx, who: Candidate, join_code: str, limits: Limits) -> Seating:
    """Like ``join_room``; the code opens a private room."""
    room_id = await store.room_of_code(tx, join_code)
    if room_id is None:
        raise RoomNotFound
    return await _join(tx, who, room_id, limits, is_invited=True)


async def _join(
    tx: Tx, who: Candidate, room_id: UUID, limits: Limits, *, is_invited: bool
) -> Seating:
    player_id = who.player.player_id
    await store.lock_player(tx, player_id)
    known = await _known(tx, who.request)
    if known is not None:
        return known
    waiting = await store.count_waiting(tx, player_id)
    room = await store.lock_room(tx, room_id)
    if room is None:
        raise RoomNotFound
    if not is_invited:
        check_visible(room, player_id)
    number = check_join(room, who.player, waiting, await store.now(tx), limits.waiting_rooms)
    return _seated(await changes.sit_down(tx, room, number, who, limits), who)


async def add_bot(
    tx: Tx, request: Request, bots: tuple[Player, ...], room_id: UUID, limits: Limits
) -> Seating:
    """Seat the first of these bots that does not sit there yet. Idempotent by request.

    Raises:
        RoomNotFound, Forbidden, InvalidBet, RoomStarted, RoomFull, IdempotencyMismatch,
            Unavailable (no bot is free)
    """
    await store.lock_player(tx, request.player_id)
    known = await _known(tx, request)
    if known is not None:
        return known
    room = check_visible(await store.lock_room(tx, room_id), request.player_id)
    check_bot_asker(room, request.player_id)
    free = next((bot for bot in bots if room.seat_of(bot.player_id) is None), None)
    if free is None:
        raise Unavailable("no bot is free")
    number = check_join(room, free, 0, await store.now(tx), limits.waiting_rooms)
    # A friendly room asks for no hold; the id is never used.
    who = Candidate(request, free, HoldId(request.request_id))
    return _seated(await changes.sit_down(tx, room, number, who, limits), who)


async def leave_room(tx: Tx, player_id: UUID, room_id: UUID) -> tuple[Room, Change | None]:
    """Give up a seat of a waiting room; the stake comes back by a durable call.

    Idempotent: who does not sit there leaves nothing. The last person out cancels the room.

    Raises:
        RoomNotFound, RoomStarted
    """
    room = check_visible(await store.lock_room(tx, room_id), player_id)
    seat = seat_to_leave(room, player_id)
    if seat is None:
        return room, None
    change = await changes.vacate(tx, room, seat, HoldFailed.code)
    return change.room, change


async def advance(
    tx: Tx, room_id: UUID, facts: Facts, limits: Limits, *, is_recovery: bool = False
) -> Advance:
    """Find the next step under the room's lock and, if it is a change of the room, do it.

    Idempotent: the step follows from the stored state. Calls are left to the caller.
    """
    room = await store.lock_room(tx, room_id)
    if room is None:
        return Advance(REST, None)
    step = next_step(room, facts, await store.now(tx), limits.create_timeout)
    if step.do not in CHANGES:
        return Advance(step, room)
    change = await _apply(tx, room, step)
    if is_recovery:
        await journal.insert_recovery(tx, room_id, step.row, step.do.value)
    return Advance(step, change.room, change)


async def _apply(tx: Tx, room: Room, step: Step) -> Change:
    match step.do, step.seat:
        case Do.TAKE_SEAT, Seat() as seat:
            return await changes.take(tx, room, seat)
        case Do.DROP_SEAT, Seat() as seat:
            return await changes.vacate(tx, room, seat, step.code)
        case Do.CANCEL, _:
            return await changes.cancel(tx, room)
        case Do.PLAY, _:
            return await changes.move(tx, room, RoomChange.PLAY)
        case Do.FINISH, _:
            return await changes.move(tx, room, RoomChange.FINISH)
        case Do.MARK_CAPTURED, _:
            return await changes.mark_captured(tx, room)
        case Do.MARK_SETTLED, _:
            return await changes.mark_settled(tx, room)
        case _:
            raise InvariantBrokenError(f"{step.do} is no change of a room")


async def outcome(tx: Tx, request: Request) -> Seating:
    """Return where an earlier request stands.

    Raises:
        the code of a refused stake; HoldFailed if the request is not known.
    """
    known = await _known(tx, request)
    if known is None:
        raise HoldFailed
    return known


async def finish_room(tx: Tx, game_id: UUID, kind: FinishKind) -> Change | None:
    """Close the room of a game that is over. Idempotent by the room's status.

    The result may come before the lobby has noticed that its game runs: a cancelled game then
    cancels the start, any other one passes through PLAYING.
    """
    room = await _lock_game(tx, game_id)
    if room is None or room.status not in (RoomStatus.STARTING, RoomStatus.PLAYING):
        return None
    if room.status is RoomStatus.PLAYING:
        return await changes.move(tx, room, RoomChange.FINISH)
    if room.terms.bet is not None:  # there is no game without the capture
        await store.set_captured(tx, room.room_id)
    if kind is FinishKind.CANCELLED:
        return await changes.move(tx, room, RoomChange.CANCEL)
    playing = await changes.move(tx, room, RoomChange.PLAY)
    return await changes.move(tx, playing.room, RoomChange.FINISH)


async def settle_room(tx: Tx, game_id: UUID) -> None:
    """Remember that the stakes of a game were settled. Idempotent: the first time stays."""
    room = await _lock_game(tx, game_id)
    if room is not None and room.status is not RoomStatus.WAITING:
        await store.set_captured(tx, room.room_id)  # if the capture's reply was lost
        await store.set_settled(tx, room.room_id)


async def _lock_game(tx: Tx, game_id: UUID) -> Room | None:
    room_id = await store.room_of_game(tx, game_id)
    return await store.lock_room(tx, room_id) if room_id else None


async def _known(tx: Tx, request: Request) -> Seating | None:
    """Return the stored answer of a request seen before; it may still be open."""
    known = await journal.find_request(tx, request.player_id, request.request_id)
    if known is None:
        return None
    if known.body_hash != request.body_hash:
        raise IdempotencyMismatch
    if known.outcome not in (None, TAKEN):
        raise from_code(str(known.outcome))
    room = await store.find_room(tx, known.room_id)
    if room is None:
        raise RoomNotFound
    if known.outcome == TAKEN:
        return Seating(room, None, None)
    seat = room.seat_of(request.player_id)
    return Seating(room, seat.hold.hold_id if seat and seat.hold else None, None)


def _seated(change: Change, who: Candidate) -> Seating:
    seat = change.room.seat_of(who.player.player_id)
    return Seating(change.room, seat.hold.hold_id if seat and seat.hold else None, change)
