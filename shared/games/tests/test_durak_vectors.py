"""The machine-checked scenarios of tests/vectors/durak.json, run against the rules as a host would.

Left to their owners: kinds ``settlement`` and ``economy`` (money), ``protocol`` but for the shapes
of actions (sessions, deduplication).
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from games.base import Event
from games.cards import NO_CARD, SUIT, Card, CardSet, cards_of, from_text, set_of, to_text
from games.durak.actions import DurakAction
from games.durak.deal import compare_opening_cards, opening_seat
from games.durak.game import DURAK
from games.durak.state import DurakOptions, DurakState, Mode, Phase, active_seat
from games.durak.view import is_out
from games.shuffle import commitment, shuffled_deck
from shared.errors import AppError, StaleState

Vector: TypeAlias = dict[str, Any]  # checked by what the tests find in it

VECTORS: list[Vector] = json.loads(
    (Path(__file__).parents[3] / "tests" / "vectors" / "durak.json").read_text(encoding="utf-8")
)["vectors"]
SUITS = "CDHS"
NOT_ACTIONS = {"TICK", "DISCONNECT", "RECONNECT", "GET_GAME_STATE"}


def of_kind(kind: str) -> pytest.MarkDecorator:
    chosen = [vector for vector in VECTORS if vector["kind"] == kind]
    return pytest.mark.parametrize("vector", chosen, ids=[vector["id"] for vector in chosen])


def test_every_machine_checked_kind_is_present() -> None:
    kinds = {vector["kind"] for vector in VECTORS}

    assert {"compare", "opening", "deal", "shuffle", "engine"} <= kinds


@of_kind("compare")
def test_opening_cards_compare_as_in_vector(vector: Vector) -> None:
    a, b = from_text(vector["given"]["a"]), from_text(vector["given"]["b"])

    assert compare_opening_cards(a, b) == vector["then"]["sign"]


@of_kind("opening")
def test_the_opener_is_as_in_vector(vector: Vector) -> None:
    given = vector["given"]

    seat = opening_seat(read_hands(given["hands"]), SUITS.index(given["trump"]))

    assert seat == vector["then"]["first_attacker"]


@of_kind("shuffle")
def test_the_shuffle_is_as_in_vector(vector: Vector) -> None:
    seed = bytes.fromhex(vector["given"]["seed_hex"])
    then = vector["then"]

    deck = [to_text(card) for card in shuffled_deck(seed)]

    assert deck == then["deck"]
    assert commitment(seed) == then["commitment_sha256"]
    assert hashlib.sha256("".join(deck).encode()).hexdigest() == then["deck_sha256"]


@of_kind("deal")
def test_the_deal_is_as_in_vector(vector: Vector) -> None:
    given, then = vector["given"], vector["then"]

    state, events = DURAK.setup(
        given["players"], DurakOptions(), bytes.fromhex(given["seed_hex"]), 0
    )

    assert state.hands == read_hands(then["hands"])
    assert to_text(state.trump_card) == then["trump_card"]
    assert SUITS[SUIT[state.trump_card]] == then["trump_suit"]
    assert len(state.deck) == then["deck_count"]
    assert state.attacker == then["first_attacker"]
    assert state.defender == then["first_defender"]
    assert state.limit == then["limit"]
    assert [event.type for event in events] == ["DEAL", "TURN_CHANGED"]


@of_kind("engine")
def test_the_match_goes_as_in_vector(vector: Vector) -> None:
    host = Host(vector["given"])

    for step in vector["when"]:
        before, sequence = DURAK.encode_state(host.state), host.state.event_count
        assert host.carry_out(step) == step["expect"]
        moved = host.state.event_count - sequence
        if step["sequence_delta"] == 0:
            assert moved == 0
            assert DURAK.encode_state(host.state) == before
        else:
            assert step["sequence_delta"] == ">=1"
            assert moved >= 1

    seen = describe(host.state)
    assert {key: seen[key] for key in vector["then"]} == vector["then"]


class Host:
    """Judges commands in the order of the engine: shape, expiry, end, staleness, rules."""

    def __init__(self, given: Vector) -> None:
        self.state = read_state(given)
        self.now_ms = round(given["now"] * 1000)
        self.last_move = self.state.event_count

    def carry_out(self, step: Vector) -> str:
        self.now_ms = round(step.get("at", self.now_ms / 1000) * 1000)
        try:
            action = None if step["type"] in NOT_ACTIONS else read_action(step)
            self.advance(DURAK.on_deadline(self.state, self.now_ms))
            if action is None:
                return "OK"
            DURAK.require_playing(self.state, step["seat"])
            self.refuse_stale(step.get("sequence"))
            self.advance(DURAK.apply(self.state, step["seat"], action, self.now_ms))
        except AppError as error:
            return error.code
        return "OK"

    def advance(self, outcome: tuple[DurakState, list[Event]]) -> None:
        sequence = self.state.event_count
        self.state, events = outcome
        for number, event in enumerate(events, sequence + 1):
            if event.is_move:
                self.last_move = number
        assert self.state.event_count == sequence + len(events)

    def refuse_stale(self, sequence: int | None) -> None:
        if sequence is not None and not self.last_move <= sequence <= self.state.event_count:
            raise StaleState


def read_state(given: Vector) -> DurakState:
    players = given["players"]
    trump = SUITS.index(given["trump"])
    deck = bytes(from_text(card) for card in given["deck"])
    table = tuple(
        (
            pair["id"],
            from_text(pair["attack"]),
            from_text(pair["defense"]) if pair["defense"] else NO_CARD,
        )
        for pair in given["table"]
    )
    out = given.get("out", [])
    emptied_at = given.get("emptied_at", {})
    return DurakState(
        options=DurakOptions(mode=Mode(given["game_type"]), **given.get("rules", {})),
        hands=read_hands(given["hands"]),
        deck=deck,
        trump_card=deck[-1] if deck else trump * 9,
        table=table,
        next_attack_id=max((pair[0] for pair in table), default=0) + 1,
        attacker=given["attacker"],
        defender=given["defender"],
        phase=Phase(given["phase"]),
        limit=given["limit"],
        first_beat_done=given.get("first_beat_done", True),
        no_progress=given.get("no_progress_tricks", 0),
        places=tuple(out.index(seat) + 1 if seat in out else 0 for seat in range(players)),
        emptied_at=tuple(emptied_at.get(str(seat), 0) for seat in range(players)),
        deadline_ms=given["deadline"] * 1000,
        event_count=given["sequence"],
    )


def read_hands(hands: Mapping[str, list[str]]) -> tuple[CardSet, ...]:
    return tuple(
        set_of(tuple(from_text(card) for card in hands[str(seat)])) for seat in range(len(hands))
    )


def read_action(step: Vector) -> DurakAction:
    cards = [
        {"rank": "6789TJQKA".find(text[0]) + 6, "suit": SUITS.index(text[1])}
        for text in step.get("cards", [])
    ]
    payload: dict[str, object] = {}
    if step["type"] in ("ATTACK", "THROW_IN"):
        payload = {"cards": cards}
    elif cards:
        payload = {"card": cards[0]}
    if "attack_id" in step:
        payload["attack_id"] = step["attack_id"]
    return DURAK.decode_action(step["type"], json.dumps(payload).encode())


def describe(state: DurakState) -> dict[str, object]:
    seats = range(len(state.hands))
    out = sorted((s for s in seats if is_out(state, s)), key=state.places.__getitem__)
    return {
        "phase": state.phase,
        "attacker": state.attacker,
        "defender": state.defender,
        "active": active_seat(state),
        "limit": state.limit,
        "deadline": None if state.deadline_ms is None else state.deadline_ms / 1000,
        "sequence": state.event_count,
        "table": [
            {"id": number, "attack": to_text(attack), "defense": text_or_none(defence)}
            for number, attack, defence in state.table
        ],
        "hands": {
            str(seat): sorted(to_text(card) for card in cards_of(state.hands[seat]))
            for seat in seats
        },
        "hand_counts": [hand.bit_count() for hand in state.hands],
        "deck_count": len(state.deck),
        "discard_count": state.discard.bit_count(),
        "out": out,
        "places": {str(seat): state.places[seat] for seat in seats if state.places[seat]},
        "forfeited": list(state.forfeited),
        "finish": state.finish_kind,
    }


def text_or_none(card: Card) -> str | None:
    return None if card == NO_CARD else to_text(card)
