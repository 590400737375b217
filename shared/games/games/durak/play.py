"""One command being carried out: the course of tricks, draws, exits and the end.

Everything here happens after a command was found legal, so nothing here refuses anything. The
names R-… are the rules of docs/rules/durak.md.
"""

from collections.abc import Mapping
from copy import copy

from msgspec import Struct

from games.base import Event, FinishKind
from games.cards import BIT, NO_CARD, WIRE, Card, CardSet, cards_of
from games.durak.events import (
    NOTHING,
    Drawn,
    Finished,
    OwnCards,
    TimedOut,
    TurnChanged,
)
from games.durak.state import (
    HAND_SIZE,
    DurakState,
    ForfeitPolicy,
    Phase,
    active_seat,
    attack_limit,
    next_living,
    table_cards,
    window_seats,
)


class Play:
    """A private copy of the state, which alone may be changed, and the events so far."""

    __slots__ = ("events", "now_ms", "state")

    def __init__(self, state: DurakState, now_ms: int) -> None:
        self.state = copy(state)
        self.now_ms = now_ms
        self.events: list[Event] = []

    def record(
        self,
        type_: str,
        seat: int | None,
        payload: Struct = NOTHING,
        *,
        private: Mapping[int, Struct] | None = None,
        is_move: bool = True,
    ) -> None:
        """Add an event; its number orders the moments at which hands became empty."""
        self.state.event_count += 1
        self.events.append(
            Event(type=type_, seat=seat, payload=payload, private=private, is_move=is_move)
        )

    # Cards.

    def set_hand(self, seat: int, hand: CardSet) -> None:
        hands = self.state.hands
        self.state.hands = (*hands[:seat], hand, *hands[seat + 1 :])

    def put_on_table(self, seat: int, cards: tuple[Card, ...]) -> list[int]:
        """Move cards from a hand to the table as attack cards; return their ids."""
        state = self.state
        hand = state.hands[seat]
        first_id = state.next_attack_id
        ids = list(range(first_id, first_id + len(cards)))
        for card in cards:
            hand ^= BIT[card]
        self.set_hand(seat, hand)
        state.table += tuple(
            (attack_id, card, NO_CARD) for attack_id, card in zip(ids, cards, strict=True)
        )
        state.next_attack_id = first_id + len(cards)
        return ids

    def card_played(self, seat: int) -> bool:
        """Do what follows every played card; tell whether the game is over (R-END-1, R-END-4).

        Expects the event of the card to be the last recorded one.
        """
        state = self.state
        state.passed = 0  # R-THR-5
        self.restart_clock(self.now_ms)
        if state.hands[seat]:
            return False
        state.emptied_at = (
            *state.emptied_at[:seat],
            state.event_count,
            *state.emptied_at[seat + 1 :],
        )
        return self.place_empty_hands()

    def restart_clock(self, at_ms: int) -> None:
        self.state.deadline_ms = at_ms + self.state.options.turn_seconds * 1000

    # The window.

    def open_window(self) -> None:
        """Let the others throw in; close at once where nobody can (public facts only, D1)."""
        self.state.phase = Phase.THROW_IN
        self.settle_window(self.now_ms)

    def settle_window(self, at_ms: int) -> None:
        """Pass for those who let the server, and close the window that waits for nobody."""
        state = self.state
        while len(state.table) < state.limit and (waiting := window_seats(state)):
            automatic = waiting & state.auto_pass
            if not automatic:
                return
            self.pass_window((automatic & -automatic).bit_length() - 1)
        self.close_window(at_ms)

    def pass_window(self, seat: int) -> None:
        self.state.passed |= 1 << seat
        self.record("PASS", seat, is_move=False)

    def close_window(self, at_ms: int) -> None:
        if self.state.taking:
            self.take_trick(at_ms)
        else:
            self.discard_trick(at_ms)

    # The end of a trick.

    def discard_trick(self, at_ms: int) -> None:
        """Everything is beaten: discard, draw, the defender attacks (R-DRW-4)."""
        state = self.state
        defender = state.defender
        state.discard |= table_cards(state)
        state.table = ()
        state.first_beat_done = True
        state.no_progress = 0
        self.draw()
        if self.place_empty_hands():
            return
        attacker = next_living(state, defender) if state.places[defender] else defender
        self.start_trick("beaten", attacker, at_ms)

    def take_trick(self, at_ms: int) -> None:
        """The defender takes the table; the next seat after him attacks (§10 TAKE)."""
        state = self.state
        defender = state.defender
        self.set_hand(defender, state.hands[defender] | table_cards(state))
        state.table = ()
        drawn = self.draw()
        state.no_progress = 0 if drawn else state.no_progress + 1
        if self.place_empty_hands():
            return
        if state.no_progress >= state.options.no_progress_cap:
            self.finish(FinishKind.CANCELLED)
            return
        self.start_trick("taken", next_living(state, defender), at_ms)

    def start_trick(self, reason: str, attacker: int, at_ms: int) -> None:
        state = self.state
        state.attacker = attacker
        state.phase = Phase.ATTACK
        state.passed = 0
        state.taking = False
        self.set_defender(next_living(state, attacker))
        self.restart_clock(at_ms)
        self.record_roles(reason)

    def set_defender(self, defender: int) -> None:
        """Name the defender and fix how many attack cards he can be given (R-LIM-1, R-TR-3)."""
        state = self.state
        state.defender = defender
        state.limit = attack_limit(state, defender)

    def record_roles(self, reason: str) -> None:
        state = self.state
        self.record(
            "TURN_CHANGED",
            None,
            TurnChanged(reason, state.phase, state.attacker, state.defender, state.limit),
        )

    def draw(self) -> bool:
        """Fill hands to six: attacker, clockwise, defender last; tell whether any card came.

        Expects the roles of the finished trick (R-DRW-1); one hand fills before the next (R-DRW-2).
        """
        state = self.state
        if not state.deck:
            return False
        players = len(state.hands)
        attacker, defender = state.attacker, state.defender
        clockwise = ((attacker + step) % players for step in range(players))
        order = [seat for seat in clockwise if seat != defender]
        drew = False
        for seat in (*order, defender):
            missing = HAND_SIZE - state.hands[seat].bit_count()
            if missing <= 0 or not state.deck:
                continue
            drew = True
            self._draw_for(seat, missing)
        return drew

    def _draw_for(self, seat: int, missing: int) -> None:
        state = self.state
        drawn, state.deck = state.deck[:missing], state.deck[missing:]
        hand = state.hands[seat]
        for card in drawn:
            hand |= BIT[card]
        self.set_hand(seat, hand)
        self.record(
            "DRAW",
            seat,
            Drawn(len(drawn), len(state.deck)),
            private={seat: OwnCards([WIRE[card] for card in drawn])},
        )

    # Exits and the end.

    def place_empty_hands(self) -> bool:
        """Give places to the seats that are out; tell whether the game is over.

        Several can be out at once only after a draw: the hand that emptied first takes the better
        place (R-END-2). The last one who holds cards is the durak (R-END-3).
        """
        state = self.state
        if state.deck:
            return False
        living = [seat for seat, place in enumerate(state.places) if not place]
        leaving = [seat for seat in living if not state.hands[seat]]
        for seat in sorted(leaving, key=state.emptied_at.__getitem__):
            self._give_next_place(seat)
        if len(living) - len(leaving) > 1:
            return False
        for seat in living:
            if state.hands[seat]:
                self._give_next_place(seat)
        self.finish(FinishKind.NORMAL)
        return True

    def _give_next_place(self, seat: int) -> None:
        places = self.state.places
        place = len(places) - places.count(0) + 1
        self.state.places = (*places[:seat], place, *places[seat + 1 :])

    def leave_last(self, leaver: int) -> None:
        """End the game with the leaver last; the others keep or get their places.

        Those still in rank by fewest cards, then by distance clockwise from the leaver.
        """
        state = self.state
        players = len(state.hands)
        others = [seat for seat in range(players) if seat != leaver and not state.places[seat]]
        others.sort(key=lambda seat: (state.hands[seat].bit_count(), (seat - leaver) % players))
        for seat in (*others, leaver):
            self._give_next_place(seat)
        self.finish(FinishKind.NORMAL)

    def finish(self, kind: FinishKind) -> None:
        state = self.state
        state.phase = Phase.GAME_OVER
        state.finish_kind = kind
        state.deadline_ms = None
        state.passed = 0
        state.taking = False
        self.record(
            "GAME_FINISHED",
            None,
            Finished(kind, [place or None for place in state.places], list(state.forfeited)),
        )

    # The clock.

    def expire(self, deadline_ms: int) -> None:
        """Process one deadline: the window closes, an active player forfeits (R-TIM-4)."""
        state = self.state
        seat = active_seat(state)
        late = TimedOut(state.phase, deadline_ms)
        if seat < 0:
            self.record("TURN_TIMEOUT", None, late)
            # The next turn starts when this one ended, however late that is noticed.
            self.close_window(deadline_ms)
            return
        self.record("TURN_TIMEOUT", seat, late)
        state.forfeited = (seat,)
        self.record("FORFEIT", seat)
        if state.options.forfeit_policy is ForfeitPolicy.AWARD:
            self.leave_last(seat)
        else:
            self.finish(FinishKind.FORFEIT)


def own_cards(hand: CardSet) -> OwnCards:
    """Show a hand to its owner."""
    return OwnCards([WIRE[card] for card in cards_of(hand)])
