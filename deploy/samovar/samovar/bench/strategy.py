"""The generator's player: the cheapest legal Durak move, so that the generator stays cheap."""

from collections.abc import Callable

import msgspec


class Card(msgspec.Struct, frozen=True):
    rank: int
    suit: int


class Pair(msgspec.Struct):
    id: int
    attack: Card
    defense: Card | None = None


class Seat(msgspec.Struct):
    seat: int
    card_count: int


class State(msgspec.Struct):
    """What the generator reads of GAME_STATE."""

    game_id: str
    sequence: int
    phase: str
    attacker_seat: int
    defender_seat: int
    trump_suit: int
    table: list[Pair]
    players: list[Seat]


class Hand(msgspec.Struct):
    """What the generator reads of YOUR_HAND."""

    game_id: str
    sequence: int
    cards: list[Card]


def mover(state: State) -> int | None:
    """Return the seat that acts next in a two-player game; None when the game is over."""
    if state.phase == "DEFEND":
        return state.defender_seat
    if state.phase in ("ATTACK", "THROW_IN"):
        return state.attacker_seat
    return None


def choose(state: State, hand: list[Card]) -> bytes:
    """Return the next action as the JSON members ``"type":…,"payload":…``."""
    trump = state.trump_suit

    def cost(card: Card) -> int:
        return card.rank + (100 if card.suit == trump else 0)

    if state.phase == "ATTACK":
        return b'"type":"ATTACK","payload":{"cards":[%s]}' % _json(min(hand, key=cost))
    if state.phase == "DEFEND":
        return _defend(state, hand, cost, trump)
    ranks = {card.rank for pair in state.table for card in (pair.attack, pair.defense) if card}
    room = len(state.table) < 6 and state.players[state.defender_seat].card_count > 0
    more = [card for card in hand if card.rank in ranks and card.suit != trump] if room else []
    # The limit was fixed when the trick began; with five on the table it may be reached: pass.
    if more and len(state.table) < 4:
        return b'"type":"THROW_IN","payload":{"cards":[%s]}' % _json(min(more, key=cost))
    return b'"type":"PASS"'


def _defend(state: State, hand: list[Card], cost: Callable[[Card], int], trump: int) -> bytes:
    pair = next(pair for pair in state.table if pair.defense is None)
    attack = pair.attack
    beating = [
        card
        for card in hand
        if (card.suit == attack.suit and card.rank > attack.rank)
        or (card.suit == trump and attack.suit != trump)
    ]
    if not beating:
        return b'"type":"TAKE"'
    card = _json(min(beating, key=cost))
    return b'"type":"BEAT","payload":{"attack_id":%d,"card":%s}' % (pair.id, card)


def _json(card: Card) -> bytes:
    return b'{"rank":%d,"suit":%d}' % (card.rank, card.suit)
