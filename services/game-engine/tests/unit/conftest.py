"""Games in memory, made by the engine's own functions."""

import random
from uuid import UUID, uuid4

import msgspec
import pytest

from game_engine.domain.creation import NewGame, new_game
from game_engine.domain.judge import Command, judge
from game_engine.domain.outages import Outages

NOW_MS = 1_800_000_000_000
SEED = bytes(range(32))


class Dealt:
    """A fresh game and ways to command it."""

    def __init__(self, players=2, *, bots=(), seed=SEED, mode="throw_in", options=None) -> None:
        self.created = new_game(
            NewGame(
                game_id=uuid4(),
                room_id=uuid4(),
                game="durak",
                mode=mode,
                options=options or {},
                players=tuple(UUID(int=seat + 1) for seat in range(players)),
                nicknames=tuple(f'Player "{seat}"' for seat in range(players)),
                bots=tuple(seat in bots for seat in range(players)),
                is_private=False,
                has_stake=True,
            ),
            seed,
            NOW_MS,
        )
        self.record = self.created.record
        self.rules = self.record.info.rules

    def command(self, seat, type_, fields=None, **changes):
        values = {
            "player_id": UUID(int=seat + 1),
            "request_id": uuid4(),
            "sequence": self.record.sequence,
            "type": type_,
            "payload": msgspec.json.encode(fields or {}),
            "is_bot": False,
            "arrived_ms": NOW_MS + 1000,
        }
        return Command(**{**values, **changes})

    def legal(self, rng=None, **changes):
        """Return a legal command of a seat that is awaited."""
        state = self.record.state
        seat = self.rules.awaited_seats(state)[0]
        actions = self.rules.legal_actions(state, seat)
        type_, payload = self.rules.encode_action(rng.choice(actions) if rng else actions[0])
        return self.command(seat, type_, msgspec.json.decode(payload), **changes)

    def judge(self, command, stored=None, outages=None):
        return judge(self.record, stored, command, outages or Outages())

    def step(self, rng):
        """Play one random legal command; return the change."""
        change = self.judge(self.legal(rng, arrived_ms=self.record.updated_ms + 10)).change
        self.record = change.after()
        return change


@pytest.fixture
def deal():
    return Dealt


@pytest.fixture(params=range(3))
def rng(request):
    return random.Random(request.param)
