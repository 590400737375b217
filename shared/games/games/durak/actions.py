"""What a player may do, and how clients write it."""

from typing import Annotated, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from games.base import Command, Expiry
from games.cards import DECK_SIZE, WIRE, Card, WireCard, from_wire
from shared.errors import InvalidRequest


class Attack(Struct, frozen=True, gc=False):
    cards: tuple[Card, ...]


class Beat(Struct, frozen=True, gc=False):
    attack_id: int
    card: Card


class ThrowIn(Struct, frozen=True, gc=False):
    cards: tuple[Card, ...]


class Translate(Struct, frozen=True, gc=False):
    card: Card


class Take(Struct, frozen=True, gc=False):
    pass


class Pass(Struct, frozen=True, gc=False):
    pass


class SetAutoPass(Struct, frozen=True, gc=False):
    """A preference: the server passes for this player whenever a window opens."""

    on: bool


class Resign(Struct, frozen=True, gc=False):
    pass


DurakAction: TypeAlias = Attack | Beat | ThrowIn | Translate | Take | Pass | SetAutoPass | Resign

TYPES: dict[type[Struct], str] = {
    Attack: "ATTACK",
    Beat: "BEAT",
    ThrowIn: "THROW_IN",
    Translate: "TRANSLATE",
    Take: "TAKE",
    Pass: "PASS",
    SetAutoPass: "SET_AUTO_PASS",
    Resign: "RESIGN",
}


class CardsPayload(Struct, frozen=True):
    cards: Annotated[list[WireCard], Meta(min_length=1, max_length=DECK_SIZE)]


class BeatPayload(Struct, frozen=True):
    attack_id: Annotated[int, Meta(ge=0, le=2**31 - 1)]
    card: WireCard


class CardPayload(Struct, frozen=True):
    card: WireCard


class NoPayload(Struct, frozen=True):
    pass


class AutoPassPayload(Struct, frozen=True):
    on: bool


_PAYLOADS: dict[str, type[Struct]] = {
    "ATTACK": CardsPayload,
    "BEAT": BeatPayload,
    "THROW_IN": CardsPayload,
    "TRANSLATE": CardPayload,
    "TAKE": NoPayload,
    "PASS": NoPayload,
    "SET_AUTO_PASS": AutoPassPayload,
    "RESIGN": NoPayload,
}

P = TypeVar("P", bound=Struct)

_decode_cards = msgspec.json.Decoder(CardsPayload).decode
_decode_beat = msgspec.json.Decoder(BeatPayload).decode
_decode_card = msgspec.json.Decoder(CardPayload).decode
_decode_wire_card = msgspec.json.Decoder(WireCard).decode
_decode_auto_pass = msgspec.json.Decoder(AutoPassPayload).decode
_decode_none = msgspec.json.Decoder(NoPayload | None).decode
_encode = msgspec.json.Encoder().encode


def decode_action(type_: str, payload: bytes, card: bytes = b"") -> DurakAction:
    """Read an action; cards outside the deck are kept as NO_CARD for the rules to refuse.

    Raises:
        InvalidRequest: The type is unknown, or the payload has a wrong shape.
    """
    try:
        return _decode(type_, payload, card)
    except msgspec.MsgspecError as error:
        raise InvalidRequest from error


def _decode(type_: str, payload: bytes, card: bytes) -> DurakAction:
    match type_:
        case "ATTACK":
            return Attack(tuple(map(from_wire, _decode_cards(payload).cards)))
        case "BEAT":
            beat = _decode_beat(payload)
            return Beat(beat.attack_id, from_wire(beat.card))
        case "THROW_IN":
            return ThrowIn(tuple(map(from_wire, _decode_cards(payload).cards)))
        case "TRANSLATE":
            return Translate(from_wire(_translate_card(payload, card)))
        case "SET_AUTO_PASS":
            return SetAutoPass(_decode_auto_pass(payload).on)
        case "TAKE" | "PASS" | "RESIGN":
            _decode_none(payload or b"null")
            return _PLAIN[type_]
        case _:
            raise InvalidRequest


_PLAIN: dict[str, DurakAction] = {"TAKE": Take(), "PASS": Pass(), "RESIGN": Resign()}


def _translate_card(payload: bytes, card: bytes) -> WireCard:
    # The spec prints the card outside the payload; the payload is the canonical place.
    if card and payload in (b"", b"{}", b"null"):
        return _decode_wire_card(card)
    return _decode_card(payload).card


def encode_action(action: DurakAction) -> tuple[str, bytes]:
    """Write an action as its type and payload."""
    payload: Struct
    match action:
        case Attack(cards) | ThrowIn(cards):
            payload = CardsPayload([WIRE[card] for card in cards])
        case Beat(attack_id, card):
            payload = BeatPayload(attack_id, WIRE[card])
        case Translate(card):
            payload = CardPayload(WIRE[card])
        case SetAutoPass(on):
            payload = AutoPassPayload(on)
        case _:
            payload = NoPayload()
    return TYPES[type(action)], _encode(payload)


def action_of(type_: str, seat: int | None, payload: bytes) -> Command[DurakAction] | Expiry | None:
    """Tell what caused a stored event: its payload contains that of the action."""
    if type_ == "TURN_TIMEOUT":
        return Expiry()
    if type_ in _PAYLOADS and seat is not None:
        return Command(seat, decode_action(type_, payload))
    return None


def action_schema() -> dict[str, object]:
    """Return the JSON Schema of each action's payload, by type."""
    return {type_: msgspec.json.schema(payload) for type_, payload in _PAYLOADS.items()}
