"""Whole games as text: a change of the rules shows as a diff of playthroughs/*.txt.

Write them anew with ``python shared/games/tests/test_durak_playthroughs.py``.
"""

import random
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from games.base import Event
from games.cards import cards_of, to_text
from games.durak.actions import DurakAction
from games.durak.game import DURAK
from games.durak.state import DurakOptions, DurakState, ForfeitPolicy, Mode, Phase
from games.shuffle import commitment

FOLDER = Path(__file__).parent / "playthroughs"
SECOND_MS = 1000

MODES = {
    "throw_in": DurakOptions(),
    "transfer": DurakOptions(mode=Mode.TRANSFER),
    "after_take": DurakOptions(throw_in_after_take=True, first_beat_limit=5),
    "award": DurakOptions(mode=Mode.TRANSFER, forfeit_policy=ForfeitPolicy.AWARD),
}
GAMES = [
    f"durak_{mode}_{players}p_{number}"
    for mode in MODES
    for players in (2, 3, 4)
    for number in (1, 2)
]


@pytest.mark.parametrize("name", GAMES)
def test_the_game_goes_as_written(name: str) -> None:
    assert play(name) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_no_playthrough_is_left_over() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == sorted(GAMES)


def play(name: str) -> str:
    """Play one game with moves drawn from its name, and write it down."""
    _, rest = name.split("_", 1)
    mode, players_text, _ = rest.rsplit("_", 2)
    players = int(players_text.removesuffix("p"))
    seed = sha256(name.encode()).digest()
    rng = random.Random(name)  # a repeatable game, not a secret
    now_ms = 0
    state, events = DURAK.setup(players, MODES[mode], seed, now_ms)
    lines = [
        f"options {msgspec.json.encode(MODES[mode]).decode()}",
        f"seed {seed.hex()}",
        f"commitment {commitment(seed)}",
        *describe_events(0, events),
        *describe_state(state),
    ]
    while state.phase is not Phase.GAME_OVER:
        now_ms += pause_s(rng, state) * SECOND_MS
        state, events = DURAK.on_deadline(state, now_ms)
        if not events:
            seat, action = choose(rng, state)
            state, events = DURAK.apply(state, seat, action, now_ms)
        lines += describe_events(now_ms // SECOND_MS, events)
        if events[-1].type == "TURN_CHANGED":
            lines += describe_state(state)
    lines += [*describe_state(state), f"result {msgspec.json.encode(DURAK.result(state)).decode()}"]
    return "\n".join(lines) + "\n"


def pause_s(rng: random.Random, state: DurakState) -> int:
    """Let windows close by time now and then, and a player run out of it rarely."""
    late = 0.2 if state.phase is Phase.THROW_IN else 0.001
    return 31 if rng.random() < late else rng.randint(1, 29)


def choose(rng: random.Random, state: DurakState) -> tuple[int, DurakAction]:
    moves = [
        (seat, action)
        for seat in range(len(state.hands))
        for action in DURAK.legal_actions(state, seat)
    ]
    return rng.choice(moves)


def describe_events(second: int, events: list[Event]) -> Iterator[str]:
    for event in events:
        who = "-" if event.seat is None else event.seat
        public = msgspec.json.encode(event.payload).decode()
        yield f"{second:5} {event.type:13} {who} {public}"


def describe_state(state: DurakState) -> Iterator[str]:
    for seat, hand in enumerate(state.hands):
        yield f"      hand {seat}: {' '.join(to_text(card) for card in cards_of(hand)) or '-'}"
    yield f"      deck: {' '.join(to_text(card) for card in state.deck) or '-'}"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for game in GAMES:
        (FOLDER / f"{game}.txt").write_text(play(game), encoding="utf-8")
