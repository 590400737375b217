"""Rules that the vectors leave open: leaving, preferences, policies, shapes of actions."""

import json
from collections.abc import Sequence

import msgspec
import pytest

from games.base import Command, Event, Expiry, FinishKind, Result
from games.cards import NO_CARD, WIRE, Card, from_text, set_of
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
from games.durak.game import DURAK
from games.durak.state import DurakOptions, DurakState, ForfeitPolicy, Phase
from games.registry import get_game, latest_game
from games.replay import StoredEvent, replay
from shared.errors import (
    GameFinished,
    InvalidCard,
    InvalidRequest,
    NotYourTurn,
    PlayerForfeited,
)

NOW_MS = 1_000_000
TURN_MS = 30_000


def cards(text: str) -> tuple[Card, ...]:
    return tuple(from_text(card) for card in text.split())


def a_state(
    hands: list[str], *, table: Sequence[tuple[str, str | None]] = (), **changes: object
) -> DurakState:
    """Build a state of hearts trump, seat 0 attacking seat 1, with an empty deck."""
    usual = DurakState(
        options=DurakOptions(),
        hands=tuple(set_of(cards(hand)) for hand in hands),
        deck=b"",
        trump_card=from_text("6H"),
        attacker=0,
        defender=1,
        limit=6,
        places=(0,) * len(hands),
        emptied_at=(0,) * len(hands),
        deadline_ms=NOW_MS + TURN_MS,
        table=tuple(
            (number, from_text(attack), from_text(defence) if defence else NO_CARD)
            for number, (attack, defence) in enumerate(table, 1)
        ),
        next_attack_id=len(table) + 1,
    )
    return msgspec.structs.replace(usual, **changes)


def types(events: list[Event]) -> list[str]:
    return [event.type for event in events]


def test_resigning_takes_the_last_place_and_the_rest_rank_by_fewest_cards_then_distance() -> None:
    state = a_state(["7C 8C", "9C", "TC TD", "JC"])

    state, events = DURAK.apply(state, 2, Resign(), NOW_MS)

    assert types(events) == ["RESIGN", "GAME_FINISHED"]
    assert DURAK.result(state) == Result(
        finish_kind=FinishKind.NORMAL, places=(3, 2, 4, 1), forfeited=()
    )


def test_resigning_keeps_the_places_already_reached() -> None:
    state = a_state(["7C", "", "TC TD"], places=(0, 1, 0), attacker=0, defender=2)

    state, _ = DURAK.apply(state, 0, Resign(), NOW_MS)

    assert DURAK.result(state) == Result(
        finish_kind=FinishKind.NORMAL, places=(3, 1, 2), forfeited=()
    )


def test_a_player_who_is_out_cannot_resign() -> None:
    state = a_state(["7C", "", "TC TD"], places=(0, 1, 0), attacker=0, defender=2)

    with pytest.raises(NotYourTurn):
        DURAK.apply(state, 1, Resign(), NOW_MS)


def test_the_policy_award_gives_a_late_player_the_last_place_of_a_normal_game() -> None:
    rules = DurakOptions(forfeit_policy=ForfeitPolicy.AWARD)
    state = a_state(["7C", "9C 9D", "TC"], options=rules)

    state, events = DURAK.on_deadline(state, NOW_MS + TURN_MS)

    assert types(events) == ["TURN_TIMEOUT", "FORFEIT", "GAME_FINISHED"]
    assert DURAK.result(state) == Result(
        finish_kind=FinishKind.NORMAL, places=(3, 2, 1), forfeited=(0,)
    )


def test_after_a_forfeit_the_forfeiter_and_the_others_get_different_errors() -> None:
    state, _ = DURAK.on_deadline(a_state(["7C", "9C 9D"]), NOW_MS + TURN_MS)

    with pytest.raises(PlayerForfeited):
        DURAK.require_playing(state, 0)
    with pytest.raises(GameFinished):
        DURAK.require_playing(state, 1)


def test_a_forfeit_keeps_the_places_already_reached() -> None:
    state = a_state(["7C", "", "TC TD"], places=(0, 1, 0), attacker=0, defender=2)

    state, _ = DURAK.on_deadline(state, NOW_MS + TURN_MS)

    assert DURAK.result(state) == Result(
        finish_kind=FinishKind.FORFEIT, places=(None, 1, None), forfeited=(0,)
    )


def test_auto_pass_closes_the_window_that_a_beat_opens() -> None:
    state = a_state(["KD", "8C QS", "7S"], table=[("7C", None)], phase=Phase.DEFEND, limit=2)
    for seat in (0, 2):
        state, events = DURAK.apply(state, seat, SetAutoPass(on=True), NOW_MS)
        assert events == []

    state, events = DURAK.apply(state, 1, Beat(1, from_text("8C")), NOW_MS)

    assert types(events) == ["BEAT", "PASS", "PASS", "TURN_CHANGED"]
    assert [event.seat for event in events] == [1, 0, 2, None]
    assert [event.is_move for event in events] == [True, False, False, True]
    assert (state.phase, state.attacker) == (Phase.ATTACK, 1)


def test_auto_pass_switched_on_in_an_open_window_passes_at_once() -> None:
    state = a_state(["KD", "QS", "7S"], table=[("7C", "8C")], phase=Phase.THROW_IN, limit=2)

    state, events = DURAK.apply(state, 2, SetAutoPass(on=True), NOW_MS)

    assert types(events) == ["PASS"]
    assert DURAK.awaited_seats(state) == (0,)


def test_auto_pass_can_be_switched_off() -> None:
    state = a_state(["KD", "8C QS"], table=[("7C", None)], phase=Phase.DEFEND, limit=2)
    state, _ = DURAK.apply(state, 0, SetAutoPass(on=True), NOW_MS)
    assert DURAK.private_view(state, 0).auto_pass
    assert not DURAK.private_view(state, 1).auto_pass

    state, events = DURAK.apply(state, 0, SetAutoPass(on=False), NOW_MS)

    assert events == []
    assert not DURAK.private_view(state, 0).auto_pass


def test_passing_twice_is_refused() -> None:
    state = a_state(["KD", "QS", "7S"], table=[("7C", "8C")], phase=Phase.THROW_IN, limit=2)
    state, _ = DURAK.apply(state, 0, Pass(), NOW_MS)

    with pytest.raises(NotYourTurn):
        DURAK.apply(state, 0, Pass(), NOW_MS)


def test_a_player_who_passed_may_still_throw_in() -> None:
    state = a_state(["7D", "QS", "KS"], table=[("7C", "8C")], phase=Phase.THROW_IN, limit=2)
    state, _ = DURAK.apply(state, 0, Pass(), NOW_MS)

    state, _ = DURAK.apply(state, 0, ThrowIn(cards("7D")), NOW_MS)

    assert state.phase is Phase.DEFEND


def test_passing_does_not_touch_the_deadline() -> None:
    state = a_state(["KD", "QS", "7S"], table=[("7C", "8C")], phase=Phase.THROW_IN, limit=2)

    passed, _ = DURAK.apply(state, 0, Pass(), NOW_MS + 5)

    assert passed.deadline_ms == state.deadline_ms


def test_the_window_closes_on_hands_only_where_the_option_says_so() -> None:
    table = [("7C", None)]
    beat = Beat(1, from_text("8C"))
    hands = ["KD", "8C QS", "KS"]

    usual, _ = DURAK.apply(a_state(hands, table=table, phase=Phase.DEFEND), 1, beat, NOW_MS)
    closing = DurakOptions(auto_close_on_hands=True)
    casual, _ = DURAK.apply(
        a_state(hands, table=table, phase=Phase.DEFEND, options=closing), 1, beat, NOW_MS
    )

    assert usual.phase is Phase.THROW_IN
    assert casual.phase is Phase.ATTACK


def test_a_card_named_twice_is_refused() -> None:
    with pytest.raises(InvalidCard):
        DURAK.apply(a_state(["7C 7D", "9C 9D"]), 0, Attack(cards("7C 7C")), NOW_MS)


def test_an_outage_puts_the_deadline_off_and_changes_nothing_else() -> None:
    state = a_state(["7C", "9C 9D"])

    extended = DURAK.extend_deadline(state, 7_000)

    assert DURAK.deadline_ms(extended) == NOW_MS + TURN_MS + 7_000
    assert DURAK.on_deadline(extended, NOW_MS + TURN_MS) == (extended, [])


def test_the_table_shows_ids_roles_and_counts() -> None:
    state = a_state(
        ["KD", "QS", ""],
        table=[("7C", "8C"), ("7D", None)],
        phase=Phase.DEFEND,
        limit=2,
        places=(0, 0, 1),
    )

    view = msgspec.to_builtins(DURAK.public_view(state))

    assert view == {
        "mode": "throw_in",
        "phase": "DEFEND",
        "attacker_seat": 0,
        "defender_seat": 1,
        "active_seat": 1,
        "trump_suit": 2,
        "trump_card": None,
        "deck_count": 0,
        "discard_count": 0,
        "table": [
            {"id": 1, "attack": wire("7C"), "defense": wire("8C")},
            {"id": 2, "attack": wire("7D"), "defense": None},
        ],
        "limit": 2,
        "passed": [],
        "taking": False,
        "players": [
            player(0, cards=1),
            player(1, cards=1),
            player(2, cards=0, out=True, place=1),
        ],
    }


def wire(text: str) -> object:
    return msgspec.to_builtins(WIRE[from_text(text)])


def player(
    seat: int, *, cards: int, out: bool = False, place: int | None = None
) -> dict[str, object]:
    return {
        "seat": seat,
        "card_count": cards,
        "connected": True,
        "out": out,
        "place": place,
        "forfeited": False,
    }


def test_a_hand_is_shown_in_canonical_order() -> None:
    view = DURAK.private_view(a_state(["AH 6C KD", "7C"]), 0)

    assert view.cards == [WIRE[card] for card in cards("6C KD AH")]


@pytest.mark.parametrize(
    "action",
    [
        Attack(cards("7C 7D")),
        Beat(17, from_text("TD")),
        ThrowIn(cards("9D")),
        Translate(from_text("9S")),
        Take(),
        Pass(),
        SetAutoPass(on=True),
        Resign(),
    ],
)
def test_an_action_reads_back_as_it_was_written(action: DurakAction) -> None:
    assert DURAK.decode_action(*DURAK.encode_action(action)) == action


@pytest.mark.parametrize(
    ("type_", "payload"),
    [
        ("SHUFFLE", "{}"),
        ("attack", '{"cards":[{"rank":6,"suit":1}]}'),
        ("ATTACK", ""),
        ("ATTACK", "{"),
        ("ATTACK", "{}"),
        ("ATTACK", '{"cards":[]}'),
        ("ATTACK", '{"cards":{"rank":6,"suit":1}}'),
        ("ATTACK", '{"cards":[{"rank":"6","suit":1}]}'),
        ("ATTACK", '{"cards":[{"rank":6.5,"suit":1}]}'),
        ("ATTACK", '{"cards":[{"rank":true,"suit":1}]}'),
        ("ATTACK", json.dumps({"cards": [{"rank": 6, "suit": 1}] * 37})),
        ("BEAT", '{"card":{"rank":6,"suit":1}}'),
        ("BEAT", '{"attack_id":"1","card":{"rank":6,"suit":1}}'),
        ("TRANSLATE", "{}"),
        ("TAKE", "[]"),
        ("SET_AUTO_PASS", '{"on":1}'),
    ],
)
def test_a_wrong_shape_is_an_invalid_request(type_: str, payload: str) -> None:
    with pytest.raises(InvalidRequest):
        DURAK.decode_action(type_, payload.encode())


@pytest.mark.parametrize(
    "card", ['{"rank":5,"suit":0}', '{"rank":6,"suit":4}', '{"rank":-1,"suit":-1}']
)
def test_a_card_outside_the_deck_is_the_rules_to_refuse(card: str) -> None:
    action = DURAK.decode_action("ATTACK", f'{{"cards":[{card}]}}'.encode())

    with pytest.raises(InvalidCard):
        DURAK.apply(a_state(["7C", "9C 9D"]), 0, action, NOW_MS)


def test_translate_reads_its_card_from_both_places() -> None:
    card = b'{"rank":9,"suit":3}'
    expected = Translate(from_text("9S"))

    assert DURAK.decode_action("TRANSLATE", b"", card) == expected
    assert DURAK.decode_action("TRANSLATE", b"{}", card) == expected
    assert DURAK.decode_action("TRANSLATE", b'{"card":' + card + b"}") == expected


def test_fields_that_a_client_may_not_decide_are_ignored() -> None:
    payload = b'{"seat":0,"player_id":1,"cards":[{"rank":7,"suit":0,"deadline":5}]}'

    assert DURAK.decode_action("ATTACK", payload) == Attack(cards("7C"))


def test_the_cause_of_a_stored_event_is_a_command_the_clock_or_another_event() -> None:
    assert DURAK.action_of("TAKE", 1, b"{}") == Command(1, Take())
    assert DURAK.action_of("TURN_TIMEOUT", None, b"{}") == Expiry()
    assert DURAK.action_of("DRAW", 1, b'{"count":1,"deck_count":0}') is None
    assert DURAK.action_of("RECOVERY", None, b"{}") is None


def test_options_have_the_default_rules_and_refuse_others() -> None:
    assert DURAK.decode_options(b"") == DurakOptions()
    assert DURAK.decode_options(b'{"mode":"transfer","turn_seconds":10}').turn_seconds == 10
    for raw in (b'{"jokers":2}', b'{"turn_seconds":0}', b'{"mode":"odd"}', b"[]"):
        with pytest.raises(InvalidRequest):
            DURAK.decode_options(raw)


@pytest.mark.parametrize("players", [0, 1, 5])
def test_two_to_four_play(players: int) -> None:
    with pytest.raises(InvalidRequest):
        DURAK.setup(players, DurakOptions(), bytes(32), NOW_MS)


def test_the_registry_finds_a_game_by_name_and_version() -> None:
    assert get_game("durak", "1") is DURAK
    assert latest_game("durak") is DURAK
    with pytest.raises(InvalidRequest):
        get_game("durak", "0")
    with pytest.raises(InvalidRequest):
        latest_game("chess")


def test_every_action_has_a_json_schema() -> None:
    schema = DURAK.action_schema()

    assert set(schema) == {
        *("ATTACK", "BEAT", "THROW_IN", "TRANSLATE", "TAKE", "PASS", "SET_AUTO_PASS", "RESIGN")
    }
    assert json.dumps(schema)


def test_replay_gives_back_the_time_of_an_outage() -> None:
    seed, late_ms = bytes(32), NOW_MS + TURN_MS + 1_000
    state, events = DURAK.setup(2, DurakOptions(), seed, NOW_MS)
    opening = DURAK.legal_actions(state, state.attacker)[0]
    state = DURAK.extend_deadline(state, 7_000)
    state, caused = DURAK.apply(state, state.attacker, opening, late_ms)
    stored = [
        StoredEvent(type="RECOVERY", seat=None, payload=b"{}", at_ms=late_ms, extended_ms=7_000),
        *(
            StoredEvent(
                type=event.type,
                seat=event.seat,
                payload=msgspec.json.encode(event.payload),
                at_ms=late_ms,
            )
            for event in caused
        ),
    ]

    replayed = replay(
        DURAK, stored, players=2, options=DurakOptions(), seed=seed, started_at_ms=NOW_MS
    )

    assert replayed == (state, events + caused)


def test_a_running_game_has_no_result_and_waits_for_its_active_seat() -> None:
    state = a_state(["7C", "9C 9D"])

    assert DURAK.result(state) is None
    assert DURAK.awaited_seats(state) == (0,)


def test_a_finished_game_has_no_deadline_to_put_off() -> None:
    state, _ = DURAK.apply(a_state(["7C", "9C 9D"]), 0, Resign(), NOW_MS)

    assert DURAK.extend_deadline(state, 7_000) == state
