"""Frames as an independent implementation of RFC 6455 reads them."""

import json
from uuid import UUID

import pytest
from websockets.frames import Opcode
from websockets.protocol import CLIENT, Protocol

from realtime import frames
from realtime.public_state import corrected, is_state
from shared.contracts.realtime import frame
from shared.errors import StaleState, Unavailable

REQUEST = UUID("0190a5d2-7c1e-7000-8000-000000000001")
GAME = UUID("0190a5d2-7c1e-7000-8000-000000000002")


def read(data: bytes) -> list[bytes]:
    client = Protocol(CLIENT, max_size=None)
    client.receive_data(data)
    received = client.events_received()
    assert all(f.opcode is Opcode.TEXT and f.fin for f in received)  # type: ignore[union-attr]
    return [bytes(f.data) for f in received]  # type: ignore[union-attr]


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65535, 65536, 200_000])
def test_a_frame_of_any_size_is_read_as_it_was_written(size: int) -> None:
    text = b"x" * size

    assert read(frames.on_wire(text)) == [text]


def test_several_frames_in_one_write_are_read_one_by_one() -> None:
    texts = [b"a", b"b" * 300, b"", b"c" * 70_000]

    assert read(frames.all_on_wire(texts)) == texts


def test_the_hand_written_acknowledgement_is_what_the_encoder_would_write() -> None:
    expected = frame("ACTION_ACCEPTED", request_id=REQUEST, game_id=GAME, sequence=7)

    assert frames.accepted(REQUEST, GAME, 7) == expected


def test_a_rejection_carries_the_engine_s_sequence_before_our_own() -> None:
    ours = json.loads(frames.rejected(REQUEST, GAME, StaleState(), 4))
    engine_s = json.loads(frames.rejected(REQUEST, GAME, StaleState(sequence=9), 4))

    assert (ours["sequence"], engine_s["sequence"]) == (4, 9)
    assert ours["code"] == "ERR_STALE_STATE"


def test_an_error_names_its_request_if_it_has_one() -> None:
    assert json.loads(frames.failed(REQUEST, Unavailable()))["request_id"] == str(REQUEST)
    assert json.loads(frames.failed(None, Unavailable()))["request_id"] is None


def test_only_the_state_is_taken_for_one() -> None:
    assert is_state(frame("GAME_STATE", game_id=GAME))
    assert not is_state(frame("CHAT", text='"type":"GAME_STATE" ' * 10)[: 64 + 20])
    assert not is_state(frame("GAME_EVENT", game_id=GAME))


def test_a_state_is_corrected_on_the_seats_of_those_who_are_away_and_nowhere_else() -> None:
    players = [{"seat": seat, "connected": True, "card_count": 6} for seat in range(3)]
    state = frame("GAME_STATE", sequence=3, players=players, table=[])

    shown = json.loads(corrected(state, {1}))

    assert [p["connected"] for p in shown["players"]] == [True, False, True]
    original = json.loads(state)
    for document in (shown, original):
        del document["players"]
    assert shown == original


def test_a_state_without_players_is_left_alone() -> None:
    state = frame("GAME_STATE", sequence=3)

    assert json.loads(corrected(state, {0})) == json.loads(state)
