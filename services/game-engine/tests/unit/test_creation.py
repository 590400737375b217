"""The first events of a game."""

import json
from hashlib import sha256

import pytest

from shared.errors import InvalidRequest


def test_the_commitment_is_told_before_the_deal(deal):
    game = deal(3)

    events = game.created.events

    assert [event.type for event in events] == [
        "GAME_CREATED", "PLAYER_JOINED", "PLAYER_JOINED", "PLAYER_JOINED", "GAME_STARTED",
        "DEAL", "TURN_CHANGED",
    ]  # fmt: skip
    assert [event.sequence for event in events] == list(range(1, 8))
    expected = sha256(game.record.info.seed).hexdigest()
    assert json.loads(events[0].payload)["commitment"] == expected
    assert json.loads(events[4].payload)["commitment"] == expected
    assert set(json.loads(events[5].private)) == {"0", "1", "2"}


def test_a_game_that_cannot_be_is_refused(deal):
    for wrong in (
        {"mode": "chess"},
        {"players": 5},
        {"options": {"turn_seconds": 0}},
        {"options": {"nobody": "knows"}},
    ):
        with pytest.raises(InvalidRequest):
            deal(**wrong)
