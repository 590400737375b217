"""Durak as a ``Game``: the functions of this folder in the order of the interface."""

import msgspec

from games.base import Command, Event, Expiry, Result
from games.durak import actions, deal, moves, rules, view
from games.durak.actions import DurakAction
from games.durak.state import DurakOptions, DurakState
from shared.errors import InvalidRequest

_encode_state = msgspec.msgpack.Encoder().encode
_decode_state = msgspec.msgpack.Decoder(DurakState).decode
_decode_options = msgspec.json.Decoder(DurakOptions).decode


class Durak:
    """Version 1 of the rules (docs/rules/durak.md)."""

    name = "durak"
    rules_version = "1"
    min_players = 2
    max_players = 4

    def setup(
        self, players: int, options: DurakOptions, seed: bytes, now_ms: int
    ) -> tuple[DurakState, list[Event]]:
        if not self.min_players <= players <= self.max_players:
            raise InvalidRequest
        return deal.setup(players, options, seed, now_ms)

    def legal_actions(self, state: DurakState, seat: int) -> list[DurakAction]:
        return moves.legal_actions(state, seat)

    def apply(
        self, state: DurakState, seat: int, action: DurakAction, now_ms: int
    ) -> tuple[DurakState, list[Event]]:
        return rules.apply(state, seat, action, now_ms)

    def on_deadline(self, state: DurakState, now_ms: int) -> tuple[DurakState, list[Event]]:
        return rules.on_deadline(state, now_ms)

    def public_view(self, state: DurakState) -> view.PublicView:
        return view.public_view(state)

    def private_view(self, state: DurakState, seat: int) -> view.PrivateView:
        return view.private_view(state, seat)

    def result(self, state: DurakState) -> Result | None:
        return view.result(state)

    def require_playing(self, state: DurakState, seat: int) -> None:
        rules.require_playing(state, seat)

    def awaited_seats(self, state: DurakState) -> tuple[int, ...]:
        return view.awaited_seats(state)

    def deadline_ms(self, state: DurakState) -> int | None:
        return state.deadline_ms

    def extend_deadline(self, state: DurakState, by_ms: int) -> DurakState:
        return rules.extend_deadline(state, by_ms)

    def without_preferences(self, state: DurakState) -> DurakState:
        return msgspec.structs.replace(state, auto_pass=0)

    def decode_options(self, raw: bytes) -> DurakOptions:
        try:
            return _decode_options(raw or b"{}")
        except msgspec.MsgspecError as error:
            raise InvalidRequest from error

    def encode_state(self, state: DurakState) -> bytes:
        return _encode_state(state)

    def decode_state(self, snapshot: bytes) -> DurakState:
        return _decode_state(snapshot)

    def decode_action(self, type_: str, payload: bytes, card: bytes = b"") -> DurakAction:
        return actions.decode_action(type_, payload, card)

    def encode_action(self, action: DurakAction) -> tuple[str, bytes]:
        return actions.encode_action(action)

    def action_of(
        self, type_: str, seat: int | None, payload: bytes
    ) -> Command[DurakAction] | Expiry | None:
        return actions.action_of(type_, seat, payload)

    def action_schema(self) -> dict[str, object]:
        return actions.action_schema()


DURAK = Durak()
