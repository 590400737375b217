"""What clients are shown, and that nobody is shown what he must not see."""

import json

import msgspec
import pytest

from game_engine import frames
from game_engine.domain.judge import judge_expiry
from game_engine.domain.outages import Outages
from games.cards import WIRE, cards_of, set_of
from shared.contracts.base import encode

NOW_MS = 1_800_000_000_123


def decoded(raws):
    return [json.loads(bytes(raw)) for raw in raws]


def with_other_hidden_cards(record, viewer, rng):
    """Deal the cards that a viewer cannot know anew."""
    state = record.state
    hidden = [card for seat, hand in enumerate(state.hands) if seat != viewer
              for card in cards_of(hand)] + list(state.deck[:-1])  # fmt: skip
    rng.shuffle(hidden)
    hands = list(state.hands)
    for seat, hand in enumerate(hands):
        if seat != viewer:
            count = hand.bit_count()
            hands[seat] = set_of(bytes(hidden[:count]))
            del hidden[:count]
    state = msgspec.structs.replace(state, hands=tuple(hands), deck=bytes(hidden) + state.deck[-1:])
    return msgspec.structs.replace(record, state=state, private_views=None)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_frames_do_not_depend_on_what_the_viewer_cannot_know(deal, players, rng):
    game = deal(players)
    while game.record.result is None:
        for viewer in (None, *range(players)):
            other = with_other_hidden_cards(game.record, viewer, rng)
            assert shown(game.record, viewer) == shown(other, viewer)
        game.step(rng)


def shown(record, viewer):
    return [bytes(raw) for raw in frames.view_frames(record, viewer, NOW_MS)]


def test_the_public_part_of_a_push_names_no_card_that_stays_in_a_hand_or_the_deck(deal, rng):
    game = deal(3)
    while game.record.result is None:
        change = game.step(rng)
        state = game.record.state
        push = frames.push_of(change, game.record, NOW_MS)
        public = b"".join(bytes(raw) for raw in push.public if b'"GAME_FINISHED"' not in bytes(raw))
        held = {card for hand in state.hands for card in cards_of(hand)} | set(state.deck[:-1])
        played = {
            card
            for event in change.events
            for card in range(36)
            if encode(WIRE[card]) in event.payload
        }
        if state.deck:
            played.add(state.trump_card)
        for card in held - played:
            assert encode(WIRE[card]) not in public


def test_game_state_has_the_fields_of_the_specification(deal):
    game = deal(3)

    state = json.loads(frames.state_frame(game.record, NOW_MS))

    assert state["type"] == "GAME_STATE"
    assert state["version"] == 1
    assert state["game_id"] == str(game.record.info.game_id)
    assert state["sequence"] == game.record.sequence
    assert {"phase", "attacker_seat", "defender_seat", "active_seat", "trump_suit", "deck_count",
            "table", "players", "deadline"} <= state.keys()  # fmt: skip
    assert state["deadline_ms"] == game.record.deadline_ms
    assert state["deadline"] == game.record.deadline_ms // 1000
    assert state["server_now_ms"] == NOW_MS
    assert [player["seat"] for player in state["players"]] == [0, 1, 2]
    assert state["players"][1]["nickname"] == 'Player "1"'
    assert {"player_id", "card_count", "connected", "out", "place"} <= state["players"][0].keys()


def test_a_player_gets_his_hand_only_when_it_changed(deal):
    game = deal(2)
    attacker = game.record.info.players[game.record.state.attacker]
    change = game.judge(game.legal()).change

    push = frames.push_of(change, change.after(), NOW_MS)

    assert list(push.private) == [attacker]
    (hand,) = decoded(push.private[attacker])
    assert hand["type"] == "YOUR_HAND"
    assert len(hand["cards"]) == 6 - len(change.events[0].payload.split(b'"rank"')[1:])


def test_a_push_tells_events_then_state_then_timer(deal):
    game = deal(2)
    change = game.judge(game.legal()).change

    push = frames.push_of(change, change.after(), NOW_MS)

    assert [frame["type"] for frame in decoded(push.public)] == [
        *["GAME_EVENT"] * len(change.events), "GAME_STATE", "TURN_TIMER",
    ]  # fmt: skip
    assert (push.from_sequence, push.to_sequence) == (
        game.record.sequence, change.after().sequence,
    )  # fmt: skip
    assert not push.is_over
    assert b'"from":' in encode(push)


def test_a_forfeit_is_told_with_the_result_and_the_seed(deal):
    game = deal(2)
    loser = game.record.state.attacker
    change = judge_expiry(game.record, game.record.deadline_ms, Outages())

    push = frames.push_of(change, change.after(), NOW_MS)

    told = {frame["type"]: frame for frame in decoded(push.public)}
    assert told["PLAYER_FORFEITED"]["seat"] == loser
    finished = told["GAME_FINISHED"]
    assert finished["seed"] == game.record.info.seed.hex()
    assert finished["commitment"] == game.record.info.commitment
    assert finished["result"]["finish_kind"] == "forfeit"
    assert finished["result"]["standings"][loser]["forfeited"] is True
    assert "TURN_TIMER" not in told
    assert push.is_over


def test_a_bot_that_may_act_gets_its_own_view(deal):
    game = deal(2, bots=(0, 1))
    attacker = game.record.state.attacker

    (turn,) = frames.bot_turns(game.record)

    assert (turn.seat, turn.game, turn.rules_version) == (attacker, "durak", "1")
    assert json.loads(bytes(turn.public))["attacker_seat"] == attacker
    assert bytes(turn.private) == frames.private_views_of(game.record)[attacker]


def test_bots_get_no_frames_and_people_no_bot_turns(deal):
    bots, people = deal(2, bots=(0, 1)), deal(2)
    change = bots.judge(bots.legal(is_bot=True)).change

    assert frames.push_of(change, change.after(), NOW_MS).private == {}
    assert frames.bot_turns(people.record) == []
