"""How a bot plays Durak: rules of thumb over what one seat sees.

Trumps stay in hand while there is a deck to draw from, pairs go first, and a high trump is dearer
than the cards that are taken instead.
"""

from dataclasses import dataclass
from itertools import groupby

import msgspec

from bot.strategies.strategy import Move
from games.cards import RANK, SUIT, Card, from_wire
from games.durak.actions import (
    Attack,
    Beat,
    DurakAction,
    Pass,
    Take,
    ThrowIn,
    Translate,
    encode_action,
)
from games.durak.moves import beats
from games.durak.state import Mode, Phase
from games.durak.view import PrivateView, PublicView

TRUMP_WEIGHT = 9  # every trump is dearer than every plain card
PAIR_BONUS = 3  # each further card of its rank makes a lead that much cheaper
ON_TABLE_BONUS = 2  # beating with a rank that lies open lets nothing new be thrown in
KEPT_TRUMP = 14  # the ace: not spent to save taking while the deck is high
HIGH_DECK = 8
TRUMP_DECK = 4  # while more cards than that lie in the deck, no trump is thrown in
KEPT_CARD = 14  # aces are not thrown in either, but held to beat with


@dataclass(frozen=True, slots=True)
class Pair:
    """An attack card and what lies on it (None: not beaten)."""

    id: int
    attack: Card
    defence: Card | None


@dataclass(frozen=True, slots=True)
class Seen:
    """A game as one seat sees it."""

    seat: int
    view: PublicView
    hand: tuple[Card, ...]
    table: tuple[Pair, ...]

    def is_trump(self, card: Card) -> bool:
        return SUIT[card] == self.view.trump_suit

    def worth(self, card: Card) -> int:
        """Tell how much the seat would rather keep a card."""
        return RANK[card] + TRUMP_WEIGHT * self.is_trump(card)

    def open_ranks(self) -> set[int]:
        """Collect the ranks on the table."""
        ranks = {RANK[pair.attack] for pair in self.table}
        return ranks | {RANK[pair.defence] for pair in self.table if pair.defence is not None}

    def beats(self, defence: Card, attack: Card) -> bool:
        return beats(defence, attack, self.view.trump_suit)


def moves(seat: int, public: bytes, private: bytes) -> list[Move]:
    """Return what a seat does next: the chosen move, then one that the rules cannot refuse."""
    seen = _read(seat, public, private)
    actions = _decide(seen)
    return [Move(*encode_action(action)) for action in dict.fromkeys(actions)]


def _read(seat: int, public: bytes, private: bytes) -> Seen:
    view = msgspec.json.decode(public, type=PublicView)
    hand = msgspec.json.decode(private, type=PrivateView).cards
    table = tuple(
        Pair(pair.id, from_wire(pair.attack), from_wire(pair.defense) if pair.defense else None)
        for pair in view.table
    )
    return Seen(seat, view, tuple(map(from_wire, hand)), table)


def _decide(seen: Seen) -> list[DurakAction]:
    view, seat = seen.view, seen.seat
    if not seen.hand:
        return []
    if view.phase is Phase.ATTACK and seat == view.attacker_seat:
        return [_lead(seen), Attack((min(seen.hand, key=seen.worth),))]
    if view.phase is Phase.DEFEND and seat == view.defender_seat:
        return [_defend(seen), Take()]
    is_asked = seat != view.defender_seat and seat not in view.passed
    if view.phase is Phase.THROW_IN and is_asked:
        return [_throw_in(seen), Pass()]
    return []


def _lead(seen: Seen) -> Attack:
    """Lead the cheapest rank, with all its plain cards; a trump only where there is no other."""
    hand = sorted(seen.hand, key=RANK.__getitem__)
    groups = [list(cards) for _, cards in groupby(hand, key=RANK.__getitem__)]
    limit = seen.view.limit
    if len(groups) == 1 and len(hand) <= limit and not seen.view.deck_count:
        return Attack(tuple(hand))  # the last cards, in one go
    plain = [[card for card in group if not seen.is_trump(card)] for group in groups]
    leads = [tuple(group[:limit]) for group in plain if group] or [(card,) for card in hand]

    def cost(lead: tuple[Card, ...]) -> int:
        return seen.worth(lead[0]) - PAIR_BONUS * (len(lead) - 1)

    return Attack(min(leads, key=cost))


def _defend(seen: Seen) -> DurakAction:
    translation = _translation(seen)
    if translation is not None:
        return translation
    plan = _beating_plan(seen)
    if plan is None or _is_too_dear(seen, plan):
        return Take()
    # The dearest card last: the attack may change before it is its turn.
    return min(plan, key=lambda beat: seen.worth(beat.card))


def _translation(seen: Seen) -> Translate | None:
    """Pass the attack on with a plain card of its rank, where the next seat can be given it."""
    view = seen.view
    if view.mode is not Mode.TRANSFER or any(pair.defence is not None for pair in seen.table):
        return None
    rank = RANK[seen.table[0].attack]
    cards = [card for card in seen.hand if RANK[card] == rank and not seen.is_trump(card)]
    # Nothing is beaten yet, so the hand is as it was when the limit was fixed: a limit below it
    # is that of the table.
    most = view.limit if view.limit < len(seen.hand) else len(seen.table) + 1
    fits = len(seen.table) + 1 <= min(most, _next_hand(seen))
    return Translate(cards[0]) if cards and fits else None


def _next_hand(seen: Seen) -> int:
    """Return how many cards the seat holds that an attack passed on would go to."""
    players = seen.view.players
    following = [*players[seen.seat + 1 :], *players[: seen.seat]]
    return next(player.card_count for player in following if player.place is None)


def _beating_plan(seen: Seen) -> list[Beat] | None:
    """Find a card for each attack card that is not beaten; None if the hand cannot do it.

    Trumps first, and high before low: what beats a higher card of a suit also beats a lower one, so
    taking any of the few cards that beat the higher one leaves the most for the rest.
    """
    unbeaten = [pair for pair in seen.table if pair.defence is None]
    unbeaten.sort(key=lambda pair: seen.worth(pair.attack), reverse=True)
    open_ranks = seen.open_ranks()

    def cost(card: Card) -> tuple[bool, int, Card]:
        bonus = ON_TABLE_BONUS if RANK[card] in open_ranks else 0
        return seen.is_trump(card), RANK[card] - bonus, card

    left = set(seen.hand)
    plan = []
    for pair in unbeaten:
        cards = [card for card in left if seen.beats(card, pair.attack)]
        if not cards:
            return None
        card = min(cards, key=cost)
        left.remove(card)
        plan.append(Beat(pair.id, card))
    return plan


def _is_too_dear(seen: Seen, plan: list[Beat]) -> bool:
    """Tell whether taking is better: while the deck is high, for the sake of the highest trump.

    Measured over thousands of games: to take for the sake of lower trumps loses.
    """
    if seen.view.deck_count <= HIGH_DECK:
        return False
    return any(seen.is_trump(beat.card) and RANK[beat.card] >= KEPT_TRUMP for beat in plan)


def _throw_in(seen: Seen) -> ThrowIn | Pass:
    """Throw in what is cheap; everything once the hand can be emptied by it."""
    view = seen.view
    free = view.limit - len(seen.table)
    open_ranks = seen.open_ranks()
    fitting = sorted((card for card in seen.hand if RANK[card] in open_ranks), key=seen.worth)
    if len(fitting) == len(seen.hand) <= free and not view.deck_count:
        return ThrowIn(tuple(fitting))
    cards = [card for card in fitting if _is_spare(seen, card)][:free]
    return ThrowIn(tuple(cards)) if cards else Pass()


def _is_spare(seen: Seen, card: Card) -> bool:
    deck_count = seen.view.deck_count
    if seen.is_trump(card):
        return deck_count <= TRUMP_DECK and RANK[card] < KEPT_TRUMP
    return deck_count <= TRUMP_DECK or RANK[card] < KEPT_CARD
