"""Which moves a seat has: for bots, for tests, and the predicates the rules share."""

from itertools import combinations

from games.cards import NO_CARD, RANK, SAME_RANK, SUIT, Card, CardSet, cards_of
from games.durak.actions import Attack, Beat, DurakAction, Pass, Take, ThrowIn, Translate
from games.durak.state import (
    DurakState,
    Mode,
    Phase,
    attack_limit,
    is_living,
    next_living,
    open_ranks,
    window_seats,
)
from shared.errors import InvalidAction, InvalidTranslate, TableLimit


def beats(defence: Card, attack: Card, trump_suit: int) -> bool:
    """Tell whether a card beats another: a higher one of its suit, or a trump a plain card."""
    if SUIT[defence] == SUIT[attack]:
        return defence > attack
    return SUIT[defence] == trump_suit


def legal_actions(state: DurakState, seat: int) -> list[DurakAction]:
    """List the moves of a seat.

    Several cards at once are listed where they are of one rank; a throw-in may also mix open
    ranks, which is the same as one throw-in after another.
    """
    if state.phase is Phase.GAME_OVER or not is_living(state, seat):
        return []
    hand = state.hands[seat]
    if state.phase is Phase.ATTACK:
        if seat != state.attacker:
            return []
        return [Attack(cards) for cards in _same_rank_groups(hand, state.limit)]
    if seat == state.defender:
        return _defences(state, hand) if state.phase is Phase.DEFEND else []
    free = state.limit - len(state.table)
    moves: list[DurakAction] = [
        ThrowIn(cards) for cards in _same_rank_groups(hand & open_ranks(state), free)
    ]
    if state.phase is Phase.THROW_IN and window_seats(state) >> seat & 1:
        moves.append(Pass())
    return moves


def _same_rank_groups(cards: CardSet, limit: int) -> list[tuple[Card, ...]]:
    groups: list[tuple[Card, ...]] = []
    while cards:
        rank = SAME_RANK[(cards & -cards).bit_length() - 1] & cards
        members = cards_of(rank)
        for size in range(1, min(limit, len(members)) + 1):
            groups.extend(combinations(members, size))
        cards ^= rank
    return groups


def _defences(state: DurakState, hand: CardSet) -> list[DurakAction]:
    trump_suit = SUIT[state.trump_card]
    held = cards_of(hand)
    moves: list[DurakAction] = [
        Beat(attack_id, card)
        for attack_id, attack, defence in state.table
        if defence == NO_CARD
        for card in held
        if beats(card, attack, trump_suit)
    ]
    moves.extend(Translate(card) for card in held if translate_error(state, card) is None)
    moves.append(Take())
    return moves


def translate_error(
    state: DurakState, card: Card
) -> type[InvalidAction | InvalidTranslate | TableLimit] | None:
    """Tell why the defender cannot pass the attack on with a card he holds (R-TR)."""
    if state.options.mode is not Mode.TRANSFER:
        return InvalidAction
    # While nothing is beaten, every card on the table is of the rank that was led.
    if any(pair[2] != NO_CARD for pair in state.table) or RANK[card] != RANK[state.table[0][1]]:
        return InvalidTranslate
    if len(state.table) + 1 > attack_limit(state, next_living(state, state.defender)):
        return TableLimit
    return None
