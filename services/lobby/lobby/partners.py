"""The lobby's questions to other services. An answer becomes a fact; no answer leaves it unknown.

A refusal is an answer only if the command declares it. Every call is idempotent by ids stored with
the room, so each may be repeated for ever.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from uuid import UUID

import structlog

from lobby.domain.room import Kind, Player, Room
from lobby.domain.saga import Answer, Do, Facts, GameFact, Step
from shared.bus import Bus
from shared.contracts.auth import GET_PROFILES, LIST_BOTS, Empty, GetProfiles, PlayerKind, Profile
from shared.contracts.base import Command, Q, R
from shared.contracts.economy import (
    CAPTURE_HOLDS,
    GET_SETTLEMENT,
    PLACE_HOLD,
    CaptureHolds,
    GetSettlement,
    HoldRef,
    HoldStatus,
    PlaceHold,
)
from shared.contracts.engine import (
    ABANDON_GAME,
    CREATE_GAME,
    GET_GAME,
    AbandonGame,
    CreateGame,
    GamePlayer,
    GameStatus,
    GameSummary,
    GetGame,
)
from shared.errors import AppError, Forbidden, HoldFailed, InvariantBrokenError, Unavailable
from shared.ids import PlayerId

_GAME_FACTS = {
    GameStatus.RUNNING: GameFact.RUNNING,
    GameStatus.FINISHED: GameFact.FINISHED,
    GameStatus.ABANDONED: GameFact.ABANDONED,
    GameStatus.UNKNOWN: GameFact.MISSING,
}

log = structlog.get_logger()


class Partners:
    """Economy, engine and auth as the lobby needs them."""

    def __init__(self, bus: Bus, hold_attempt_s: float, call_attempt_s: float) -> None:
        self._bus = bus
        self._hold_attempt_s = hold_attempt_s
        self._call_attempt_s = call_attempt_s
        self._calls: dict[Do, Callable[[Room, Step, Facts], Awaitable[Facts]]] = {
            Do.PLACE_HOLD: self._place_hold,
            Do.CAPTURE_HOLDS: self._capture_holds,
            Do.CREATE_GAME: self._create_game,
            Do.ABANDON_GAME: self._abandon_game,
            Do.GET_GAME: self._get_game,
            Do.GET_SETTLEMENT: self._get_settlement,
        }

    async def call(self, room: Room, step: Step, facts: Facts) -> Facts | None:
        """Make the call of a step; return what is known then, None if nothing was learnt."""
        try:
            learnt = await self._calls[step.do](room, step, facts)
        except AppError as error:
            log.info("no answer", step=step.do, room_id=str(room.room_id), code=error.code)
            return None
        return learnt if learnt != facts else None

    async def player(self, player_id: UUID, *, is_guest: bool) -> Player:
        """Return who a player is. A guest's session stays a guest's until it is renewed.

        Raises:
            Forbidden: there is no such player.
            Timeout, Unavailable, Internal: auth does not answer.
        """
        found = await self._bus.call(GET_PROFILES, GetProfiles(player_ids=(player_id,)))
        if not found.profiles:
            raise Forbidden("there is no such player")
        profile = found.profiles[0]
        if is_guest:
            profile = profile.model_copy(update={"kind": PlayerKind.GUEST})
        return _to_player(profile)

    async def bots(self) -> tuple[Player, ...]:
        """Return all bots.

        Raises:
            Timeout, Unavailable, Internal: auth does not answer.
        """
        found = await self._bus.call(LIST_BOTS, Empty())
        return tuple(_to_player(profile) for profile in found.profiles)

    async def _place_hold(self, room: Room, step: Step, facts: Facts) -> Facts:
        seat = step.seat
        if seat is None or seat.hold is None:
            raise InvariantBrokenError("a hold is placed for a reserved seat")
        request = PlaceHold(
            hold_id=seat.hold.hold_id,
            player_id=seat.player.player_id,
            room_id=room.room_id,
            amount=room.stake,
            expires_at=seat.hold.expires_at,
        )
        try:
            reply = await self._bus.call(PLACE_HOLD, request, timeout_s=self._hold_attempt_s)
        except PLACE_HOLD.errors as refusal:
            if refusal.details.get("retryable") is True:
                # His former stake in this room is on its way back: ask again with the same id.
                raise Unavailable from refusal
            return replace(facts, hold=Answer.REFUSED, hold_code=refusal.code)
        if reply.status in (HoldStatus.HELD, HoldStatus.CAPTURED):
            return replace(facts, hold=Answer.DONE)
        # The answer tells the present: this hold was given back already.
        return replace(facts, hold=Answer.REFUSED, hold_code=HoldFailed.code)

    async def _capture_holds(self, room: Room, step: Step, facts: Facts) -> Facts:
        request = CaptureHolds(
            room_id=room.room_id,
            game_id=room.game_id,
            bet=room.stake,
            holds=tuple(
                HoldRef(hold_id=seat.hold.hold_id, player_id=seat.player.player_id)
                for seat in room.seats
                if seat.hold is not None
            ),
            payout_config_version=room.payout_config_version,
        )
        try:
            await self._ask(CAPTURE_HOLDS, request)
        except CAPTURE_HOLDS.errors as refusal:
            log.warning("capture refused", room_id=str(room.room_id), code=refusal.code)
            return replace(facts, capture=Answer.REFUSED)
        return replace(facts, capture=Answer.DONE)

    async def _create_game(self, room: Room, step: Step, facts: Facts) -> Facts:
        request = CreateGame(
            game_id=room.game_id,
            room_id=room.room_id,
            game=room.terms.game,
            mode=room.terms.mode,
            options={"turn_seconds": room.terms.turn_seconds},
            players=tuple(
                GamePlayer(
                    player_id=seat.player.player_id,
                    nickname=seat.player.nickname,
                    is_bot=seat.player.kind is Kind.BOT,
                )
                for seat in room.seats
            ),
            has_stake=room.terms.bet is not None,
            is_private=room.terms.is_private,
        )
        try:
            return _with_game(facts, await self._ask(CREATE_GAME, request))
        except CREATE_GAME.errors as refusal:
            log.error("game refused", room_id=str(room.room_id), code=refusal.code)
            return replace(facts, create=Answer.REFUSED)

    async def _abandon_game(self, room: Room, step: Step, facts: Facts) -> Facts:
        request = AbandonGame(
            game_id=room.game_id,
            room_id=room.room_id,
            has_stake=room.terms.bet is not None,
            player_ids=tuple(seat.player.player_id for seat in room.seats),
        )
        return _with_game(facts, await self._ask(ABANDON_GAME, request))

    async def _get_game(self, room: Room, step: Step, facts: Facts) -> Facts:
        return _with_game(facts, await self._ask(GET_GAME, GetGame(game_id=room.game_id)))

    async def _get_settlement(self, room: Room, step: Step, facts: Facts) -> Facts:
        reply = await self._ask(GET_SETTLEMENT, GetSettlement(game_id=room.game_id))
        return replace(facts, is_settled=reply.settlement is not None)

    async def _ask(self, command: Command[Q, R], request: Q) -> R:
        return await self._bus.call(command, request, timeout_s=self._call_attempt_s)


def _with_game(facts: Facts, summary: GameSummary) -> Facts:
    return replace(facts, game=_GAME_FACTS[summary.status])


def _to_player(profile: Profile) -> Player:
    return Player(PlayerId(profile.player_id), profile.nickname, Kind(profile.kind.value))
