"""What must hold in every game of Durak, tried on random ones."""

import random
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.base import Event, FinishKind
from games.cards import DECK_SIZE, NO_CARD, Card, CardSet, cards_of, set_of
from games.durak.actions import (
    Attack,
    Beat,
    DurakAction,
    Pass,
    Resign,
    SetAutoPass,
    Take,
    ThrowIn,
    Translate,
)
from games.durak.events import Drawn, OwnCards
from games.durak.game import DURAK
from games.durak.state import DurakOptions, DurakState, ForfeitPolicy, Mode, Phase, table_cards
from games.replay import StoredEvent, replay
from shared.errors import AppError

START_MS = 1_700_000_000_000
LONGEST_GAME = 3_000  # actions; random games stay far below
encode = msgspec.json.encode

options = st.builds(
    DurakOptions,
    mode=st.sampled_from(Mode),
    turn_seconds=st.sampled_from([5, 30]),
    table_limit=st.sampled_from([5, 6]),
    first_beat_limit=st.sampled_from([None, 5]),
    throw_in_after_take=st.booleans(),
    auto_close_on_hands=st.booleans(),
    forfeit_policy=st.sampled_from(ForfeitPolicy),
    no_progress_cap=st.sampled_from([2, 60]),
)
seats = st.integers(2, 4)
seeds = st.binary(min_size=32, max_size=32)
many_games = settings(max_examples=100, deadline=None)


class Match:
    """A game played at random, with everything the engine would store of it."""

    def __init__(self, players: int, rules: DurakOptions, seed: bytes) -> None:
        self.players, self.rules, self.seed = players, rules, seed
        self.rng = random.Random(seed)  # a repeatable game, not a secret
        self.now_ms = START_MS
        self.stored: list[StoredEvent] = []
        self.state, self.events = DURAK.setup(players, rules, seed, START_MS)

    def step(self) -> None:
        """Let some time pass and make one random legal move, or let the deadline pass."""
        lapse = 1.5 if self.rng.random() < self.risk() else self.rng.random() * 0.9
        self.now_ms += int(lapse * self.rules.turn_seconds * 1000)
        self.advance(DURAK.on_deadline(self.state, self.now_ms))
        choices = self.choices()
        if choices:
            seat, action = self.rng.choice(choices)
            self.advance(DURAK.apply(self.state, seat, action, self.now_ms))

    def risk(self) -> float:
        # A late window only closes, a late player ends the game.
        return 0.3 if self.state.phase is Phase.THROW_IN else 0.001

    def choices(self) -> list[tuple[int, DurakAction]]:
        return [
            (seat, action)
            for seat in range(self.players)
            for action in DURAK.legal_actions(self.state, seat)
        ]

    def advance(self, outcome: tuple[DurakState, list[Event]]) -> None:
        self.state, events = outcome
        self.events += events
        self.stored += [
            StoredEvent(
                type=event.type, seat=event.seat, payload=encode(event.payload), at_ms=self.now_ms
            )
            for event in events
        ]

    def steps(self) -> Iterator[DurakState]:
        """Play to the end, stopping after each step."""
        for _ in range(LONGEST_GAME):
            if self.state.phase is Phase.GAME_OVER:
                return
            self.step()
            yield self.state
        pytest.fail("the game does not end")


@many_games
@given(seats, options, seeds)
def test_every_game_ends_with_all_cards_and_a_result(
    players: int, rules: DurakOptions, seed: bytes
) -> None:
    match = Match(players, rules, seed)

    for state in match.steps():
        assert_cards_conserved(state)
        assert_defender_can_beat(state)

    result = DURAK.result(match.state)
    assert result is not None
    reached = sorted(place for place in result.places if place)
    if result.finish_kind is FinishKind.NORMAL:
        assert reached == list(range(1, players + 1))
    else:
        assert reached == list(range(1, len(reached) + 1))
    assert len(result.forfeited) <= 1
    assert match.state.deadline_ms is None
    assert DURAK.awaited_seats(match.state) == ()
    assert match.events[-1].type == "GAME_FINISHED"
    assert match.state.event_count == len(match.events)


def assert_cards_conserved(state: DurakState) -> None:
    parts = [*state.hands, set_of(state.deck), state.discard, table_cards(state)]
    assert sum(part.bit_count() for part in parts) == DECK_SIZE
    assert sum(parts) == 2**DECK_SIZE - 1


def assert_defender_can_beat(state: DurakState) -> None:
    """R-LIM-4: never more unbeaten cards than the defender holds."""
    if state.phase in (Phase.DEFEND, Phase.THROW_IN):
        unbeaten = sum(pair[2] == NO_CARD for pair in state.table)
        assert unbeaten <= state.hands[state.defender].bit_count()
        assert len(state.table) <= state.limit


@many_games
@given(seats, options, seeds)
def test_legal_actions_are_exactly_what_apply_accepts(
    players: int, rules: DurakOptions, seed: bytes
) -> None:
    match = Match(players, rules, seed)

    for state in match.steps():
        snapshot = DURAK.encode_state(state)
        for seat in range(players):
            legal = DURAK.legal_actions(state, seat)
            for action in legal:
                DURAK.apply(state, seat, action, match.now_ms)
            for action in random_actions(match.rng, state.hands[seat]):
                if action not in legal and not mixes_legal_throw_ins(action, legal):
                    with pytest.raises(AppError):
                        DURAK.apply(state, seat, action, match.now_ms)
        assert DURAK.encode_state(state) == snapshot


def random_actions(rng: random.Random, hand: CardSet) -> list[DurakAction]:
    held = cards_of(hand)

    def card() -> Card:
        if held and rng.random() < 0.7:
            return rng.choice(held)
        return rng.randrange(NO_CARD, DECK_SIZE)

    def cards() -> tuple[Card, ...]:
        # Sorted, as legal moves list them; their order only decides which gets which id.
        return tuple(sorted(card() for _ in range(rng.randint(1, 3))))

    return [
        Attack(cards()),
        ThrowIn(cards()),
        Beat(rng.randint(0, 30), card()),
        Translate(card()),
        Take(),
        Pass(),
    ]


def mixes_legal_throw_ins(action: DurakAction, legal: list[DurakAction]) -> bool:
    """Cards of several open ranks in one throw-in are legal, though not listed as a move."""
    return isinstance(action, ThrowIn) and all(ThrowIn((card,)) in legal for card in action.cards)


@many_games
@given(seats, options, seeds)
def test_replay_from_the_seed_gives_the_same_bytes(
    players: int, rules: DurakOptions, seed: bytes
) -> None:
    match = Match(players, rules, seed)
    for _ in match.steps():
        if match.rng.random() < 0.1 and match.state.phase is not Phase.GAME_OVER:
            seat, on = match.rng.randrange(players), match.rng.random() < 0.5
            match.advance(DURAK.apply(match.state, seat, SetAutoPass(on), match.now_ms))
        if match.rng.random() < 0.002 and match.state.phase is not Phase.GAME_OVER:
            living = [s for s in range(players) if not match.state.places[s]]
            leaver = match.rng.choice(living)
            match.advance(DURAK.apply(match.state, leaver, Resign(), match.now_ms))

    state, events = replay(
        DURAK, match.stored, players=players, options=rules, seed=seed, started_at_ms=START_MS
    )

    assert DURAK.encode_state(state) == DURAK.encode_state(DURAK.without_preferences(match.state))
    assert encode(events) == encode(match.events)


@many_games
@given(seats, options, seeds)
def test_a_snapshot_restores_the_state(players: int, rules: DurakOptions, seed: bytes) -> None:
    match = Match(players, rules, seed)

    for state in match.steps():
        snapshot = DURAK.encode_state(state)
        restored = DURAK.decode_state(snapshot)
        assert restored == state
        assert DURAK.encode_state(restored) == snapshot


@many_games
@given(seats, options, seeds)
def test_what_a_seat_sees_does_not_depend_on_hidden_cards(
    players: int, rules: DurakOptions, seed: bytes
) -> None:
    # Closing the window on what hands hold tells the others about them: the option is named so.
    match = Match(players, msgspec.structs.replace(rules, auto_close_on_hands=False), seed)

    for state in match.steps():
        viewer = match.rng.randrange(players)
        other = with_other_hidden_cards(state, viewer, match.rng)
        assert encode(DURAK.public_view(other)) == encode(DURAK.public_view(state))
        assert encode(DURAK.private_view(other, viewer)) == encode(
            DURAK.private_view(state, viewer)
        )
        assert DURAK.legal_actions(other, viewer) == DURAK.legal_actions(state, viewer)
        for action in DURAK.legal_actions(state, viewer):
            _, events = DURAK.apply(state, viewer, action, match.now_ms)
            _, other_events = DURAK.apply(other, viewer, action, match.now_ms)
            assert public_parts(events) == public_parts(other_events)


def with_other_hidden_cards(state: DurakState, viewer: int, rng: random.Random) -> DurakState:
    """Deal the cards that the viewer cannot see anew; counts and the trump card stay."""
    held = [cards_of(hand) for hand in state.hands]
    hidden = [card for seat, cards in enumerate(held) if seat != viewer for card in cards]
    hidden += state.deck[:-1]
    rng.shuffle(hidden)
    hands = []
    for seat, cards in enumerate(held):
        if seat == viewer:
            hands.append(state.hands[seat])
        else:
            hands.append(set_of(tuple(hidden[: len(cards)])))
            hidden = hidden[len(cards) :]
    return msgspec.structs.replace(state, hands=tuple(hands), deck=bytes(hidden) + state.deck[-1:])


def public_parts(events: list[Event]) -> bytes:
    return encode([(event.type, event.seat, event.payload) for event in events])


@many_games
@given(seats, options, seeds)
def test_events_tell_hidden_cards_to_their_owner_only(
    players: int, rules: DurakOptions, seed: bytes
) -> None:
    match = Match(players, rules, seed)
    for _ in match.steps():
        pass

    deal = match.events[0]
    assert set(deal.private or ()) == set(range(players))
    for event in match.events[1:]:
        if event.type != "DRAW":
            assert event.private is None
            continue
        assert isinstance(event.payload, Drawn)
        assert event.seat is not None
        assert event.private is not None
        assert set(event.private) == {event.seat}
        own = event.private[event.seat]
        assert isinstance(own, OwnCards)
        assert len(own.cards) == event.payload.count
