"""The audit events of a settlement: what the economy paid, told after the end of the game."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from game_engine.domain.change import NewEvent
from game_engine.domain.record import encode_json
from shared.contracts.economy import Reason, Settlement

_EVENT_OF = {Reason.PAYOUT: "PAYOUT", Reason.REFUND: "REFUND"}


def settlement_events(
    settlement: Settlement, players: Sequence[UUID], sequence: int, *, is_repair: bool
) -> list[NewEvent]:
    """List the events that follow ``sequence``; a repair says so first."""
    seats = {player: seat for seat, player in enumerate(players)}
    parts: list[tuple[str, int | None, dict[str, Any]]] = []
    if is_repair:
        parts.append(("RECOVERY", None, {"reason": "settlement_not_heard_of"}))
    parts.append(("SETTLEMENT_STARTED", None, {"pool": settlement.pool}))
    parts += [
        (
            _EVENT_OF[credit.reason],
            seats.get(credit.player_id),
            {"player_id": credit.player_id, "amount": credit.amount},
        )
        for credit in settlement.credits
    ]
    if settlement.rake:
        parts.append(("RAKE", None, {"amount": settlement.rake}))
    parts.append(("SETTLEMENT_FINISHED", None, {"finish_kind": settlement.finish_kind}))
    return [
        NewEvent(sequence + number, type_, seat, encode_json(payload))
        for number, (type_, seat, payload) in enumerate(parts, 1)
    ]
