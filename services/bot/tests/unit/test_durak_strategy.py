"""Bots against bots and against chance, through the rules alone."""

import random

import msgspec
import pytest

from bot.strategies import STRATEGIES
from games.base import FinishKind
from games.cards import WIRE, cards_of, from_text
from games.durak.game import DURAK
from games.durak.state import DurakOptions, DurakState, Mode, Phase
from games.durak.view import PairView, PlayerView, PrivateView, PublicView

GAMES_OF_BOTS = 350  # for each number of players and each mode: 2,100 games
GAMES_AGAINST_CHANCE = 300

MODES = pytest.mark.parametrize("mode", Mode)


def bots_move(state: DurakState, seat: int):
    """Return the bot's moves as the engine would read them, the chosen one first."""
    public = msgspec.json.encode(DURAK.public_view(state))
    private = msgspec.json.encode(DURAK.private_view(state, seat))
    moves = STRATEGIES["durak"](seat, public, private)
    return [DURAK.decode_action(move.type, move.payload) for move in moves]


def bot(state, seat, _rng):
    return bots_move(state, seat)[0]


def chance(state, seat, rng):
    return rng.choice(DURAK.legal_actions(state, seat))


def play(players, options, rng):
    """Play a game to the end; every action a player chooses must be accepted."""
    state, _ = DURAK.setup(len(players), options, rng.randbytes(32), 0)
    actions = 0
    while state.finish_kind is None:
        seat = rng.choice(DURAK.awaited_seats(state))
        state, _ = DURAK.apply(state, seat, players[seat](state, seat, rng), 0)
        actions += 1
        assert actions < 3000
    return state


@MODES
@pytest.mark.parametrize("players", [2, 3, 4])
def test_games_of_bots_end_and_every_action_is_accepted(players, mode):
    rng = random.Random(f"bots {players} {mode}")
    options = DurakOptions(mode=mode)

    kinds = [play([bot] * players, options, rng).finish_kind for _ in range(GAMES_OF_BOTS)]

    # Cards can circulate between three or four for ever; the cap on that is hit very rarely.
    assert kinds.count(FinishKind.NORMAL) > 0.98 * GAMES_OF_BOTS


@MODES
@pytest.mark.parametrize(
    "options",
    [
        {"throw_in_after_take": True},
        {"table_limit": 3},
        {"first_beat_limit": 1},
        {"auto_close_on_hands": True},
    ],
    ids=lambda options: next(iter(options)),
)
def test_bots_find_an_accepted_action_under_other_rules(options, mode):
    rng = random.Random(f"options {options} {mode}")
    state, _ = DURAK.setup(3, DurakOptions(mode=mode, **options), rng.randbytes(32), 0)
    for _ in range(20):
        state = play_with_fallback(state, rng)
        state, _ = DURAK.setup(3, state.options, rng.randbytes(32), 0)


def play_with_fallback(state, rng):
    """Play a game of bots as the service does: what the rules refuse is followed by the next."""
    while state.finish_kind is None:
        seat = rng.choice(DURAK.awaited_seats(state))
        legal = DURAK.legal_actions(state, seat)
        moves = bots_move(state, seat)
        assert moves[-1] in legal
        state, _ = DURAK.apply(state, seat, moves[0] if moves[0] in legal else moves[-1], 0)
    return state


@MODES
def test_a_bot_beats_chance_in_four_of_five_games(mode):
    rng = random.Random(f"chance {mode}")
    won = 0
    for game in range(GAMES_AGAINST_CHANCE):
        seat = game % 2
        players = [chance, chance]
        players[seat] = bot
        won += play(players, DurakOptions(mode=mode), rng).places[seat] == 1

    assert won >= 0.8 * GAMES_AGAINST_CHANCE


@MODES
def test_a_bot_plays_the_same_whatever_it_cannot_see(mode):
    rng = random.Random(f"hidden {mode}")
    state, _ = DURAK.setup(2, DurakOptions(mode=mode), rng.randbytes(32), 0)
    while state.finish_kind is None:
        seat = rng.choice(DURAK.awaited_seats(state))
        moves = bots_move(state, seat)
        assert bots_move(with_other_hidden_cards(state, seat, rng), seat) == moves
        state, _ = DURAK.apply(state, seat, moves[0], 0)


def with_other_hidden_cards(state, seat, rng):
    """Deal what ``seat`` does not see anew: the other hand and the deck but for the trump card."""
    other = 1 - seat
    hand = cards_of(state.hands[other])
    hidden = [*hand, *state.deck[:-1]]
    rng.shuffle(hidden)
    hands = list(state.hands)
    hands[other] = sum(1 << card for card in hidden[: len(hand)])
    deck = bytes(hidden[len(hand) :]) + state.deck[-1:]
    return msgspec.structs.replace(state, hands=tuple(hands), deck=deck)


def seen(
    hand,
    table=(),
    *,
    phase=Phase.ATTACK,
    mode=Mode.THROW_IN,
    seat=0,
    deck_count=20,
    limit=6,
    passed=(),
    others=6,
):
    """Return what the strategy chooses in a position with hearts as trumps; seat 0 attacks."""
    cards = [WIRE[from_text(text)] for text in hand.split()]
    pairs = [
        PairView(number, WIRE[from_text(attack)], WIRE[from_text(defence)] if defence else None)
        for number, (attack, defence) in enumerate(table, 1)
    ]
    counts = [others, others]
    counts[seat] = len(cards)
    view = PublicView(
        mode=mode,
        phase=phase,
        attacker_seat=0,
        defender_seat=1,
        active_seat=-1,
        trump_suit=2,
        trump_card=WIRE[from_text("6H")] if deck_count else None,
        deck_count=deck_count,
        discard_count=0,
        table=pairs,
        limit=limit,
        passed=list(passed),
        taking=False,
        players=[
            PlayerView(number, count, True, False, None, False)
            for number, count in enumerate(counts)
        ],
    )
    moves = STRATEGIES["durak"](
        seat, msgspec.json.encode(view), msgspec.json.encode(PrivateView(cards, False))
    )
    return [(move.type, texts(msgspec.json.decode(move.payload))) for move in moves]


def texts(payload):
    cards = payload.get("cards") or ([payload["card"]] if "card" in payload else [])
    return " ".join("6789TJQKA"[card["rank"] - 6] + "CDHS"[card["suit"]] for card in cards)


def test_a_lead_is_the_lowest_plain_card():
    assert seen("9C 7S 6H")[0] == ("ATTACK", "7S")


def test_a_pair_goes_before_a_slightly_lower_card():
    assert seen("7S 8C 8D KC")[0] == ("ATTACK", "8C 8D")


def test_a_trump_is_led_only_where_there_is_no_plain_card():
    assert seen("AC 6H")[0] == ("ATTACK", "AC")
    assert seen("9H 6H")[0] == ("ATTACK", "6H")


def test_a_lead_does_not_exceed_the_limit():
    assert seen("8C 8D 8S", limit=2)[0] == ("ATTACK", "8C 8D")


def test_the_last_cards_go_in_one_attack_even_with_a_trump():
    assert seen("8C 8H", deck_count=0)[0] == ("ATTACK", "8C 8H")


def test_a_defence_takes_the_cheapest_card_that_beats():
    beat = seen("9C KC 6H", [("8C", None)], phase=Phase.DEFEND, seat=1)

    assert beat == [("BEAT", "9C"), ("TAKE", "")]


def test_a_defence_prefers_a_rank_that_lies_open():
    beat = seen("9C TC", [("8C", None), ("TD", "JD")], phase=Phase.DEFEND, seat=1)

    assert beat[0] == ("BEAT", "TC")


def test_what_cannot_be_beaten_whole_is_taken():
    table = [("8C", None), ("8D", None)]

    assert seen("9C 6S", table, phase=Phase.DEFEND, seat=1) == [("TAKE", "")]


def test_the_ace_of_trumps_is_kept_while_the_deck_is_high():
    table = [("KH", None)]

    high = seen("AH 6S", table, phase=Phase.DEFEND, seat=1, deck_count=9)
    low = seen("AH 6S", table, phase=Phase.DEFEND, seat=1, deck_count=8)

    assert (high[0][0], low[0][0]) == ("TAKE", "BEAT")


def test_an_attack_is_passed_on_with_a_plain_card():
    table = [("8C", None)]

    moves = seen("8D 9C", table, phase=Phase.DEFEND, seat=1, mode=Mode.TRANSFER)

    assert moves == [("TRANSLATE", "8D"), ("TAKE", "")]


def test_an_attack_is_not_passed_on_with_a_trump_or_to_too_small_a_hand():
    table = [("8C", None)]

    trump = seen("8H 9C", table, phase=Phase.DEFEND, seat=1, mode=Mode.TRANSFER)
    small = seen("8D 9C", table, phase=Phase.DEFEND, seat=1, mode=Mode.TRANSFER, others=1)

    assert trump[0][0] == small[0][0] == "BEAT"


def test_cheap_cards_are_thrown_in_but_no_trump_and_no_ace():
    table = [("8C", "AC")]

    moves = seen("8D 8H AD", table, phase=Phase.THROW_IN)

    assert moves == [("THROW_IN", "8D"), ("PASS", "")]


def test_nothing_sensible_to_throw_in_is_a_pass():
    assert seen("8H KD", [("8C", "TC")], phase=Phase.THROW_IN) == [("PASS", "")]


def test_who_has_passed_or_waits_does_nothing():
    table = [("8C", "TC")]

    assert seen("8D", table, phase=Phase.THROW_IN, passed=[0]) == []
    assert seen("8D", table, phase=Phase.THROW_IN, seat=1) == []
    assert seen("8D", [("8C", None)], phase=Phase.DEFEND) == []
    assert seen("8D", phase=Phase.ATTACK, seat=1) == []
    assert seen("8D", phase=Phase.GAME_OVER) == []
