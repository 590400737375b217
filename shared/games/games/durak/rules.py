"""The rules of Durak: what an action or the clock does to a state.

Each handler checks everything first, in the order of docs/rules/durak.md (Errors): phase, role,
cards, ownership, rule, limit. Only then it makes a ``Play`` and changes that.
"""

from typing import TypeAlias, assert_never

import msgspec

from games.base import Event
from games.cards import (
    NO_CARD,
    SAME_RANK,
    SUIT,
    WIRE,
    Card,
    CardSet,
    set_of,
)
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
from games.durak.events import Beaten, CardsPlayed, Translated
from games.durak.moves import beats, translate_error
from games.durak.play import Play
from games.durak.state import (
    DurakState,
    Mode,
    Phase,
    is_living,
    next_living,
    open_ranks,
    window_seats,
)
from shared.errors import (
    CardNotInHand,
    GameFinished,
    InvalidAction,
    InvalidBeat,
    InvalidCard,
    InvalidPhase,
    InvalidThrowIn,
    NotYourTurn,
    PlayerForfeited,
    TableLimit,
)

Outcome: TypeAlias = tuple[DurakState, list[Event]]


def require_playing(state: DurakState, seat: int) -> None:
    """Refuse every command after the end, the forfeiter's with a code of its own."""
    if state.phase is Phase.GAME_OVER:
        raise PlayerForfeited if seat in state.forfeited else GameFinished


def apply(state: DurakState, seat: int, action: DurakAction, now_ms: int) -> Outcome:
    """Carry out an action of a seat, or raise the error of the first rule it breaks."""
    require_playing(state, seat)
    match action:
        case Attack():
            play = _attack(state, seat, action, now_ms)
        case Beat():
            play = _beat(state, seat, action, now_ms)
        case ThrowIn():
            play = _throw_in(state, seat, action, now_ms)
        case Pass():
            play = _pass(state, seat, now_ms)
        case Take():
            play = _take(state, seat, now_ms)
        case Translate():
            play = _translate(state, seat, action, now_ms)
        case SetAutoPass():
            play = _set_auto_pass(state, seat, action, now_ms)
        case Resign():
            play = _resign(state, seat, now_ms)
        case _:
            assert_never(action)
    return play.state, play.events


def on_deadline(state: DurakState, now_ms: int) -> Outcome:
    """Process every deadline that has come, each at its own time."""
    if state.deadline_ms is None or now_ms < state.deadline_ms:
        return state, []
    play = Play(state, now_ms)
    while (deadline := play.state.deadline_ms) is not None and deadline <= now_ms:
        play.expire(deadline)
    return play.state, play.events


def _attack(state: DurakState, seat: int, action: Attack, now_ms: int) -> Play:
    if state.phase is not Phase.ATTACK:
        raise InvalidPhase
    if seat != state.attacker:
        raise NotYourTurn
    cards = action.cards
    if _held(state, seat, cards) & ~SAME_RANK[cards[0]]:
        raise InvalidCard
    if len(cards) > state.limit:
        raise TableLimit

    play = Play(state, now_ms)
    play.state.phase = Phase.DEFEND
    ids = play.put_on_table(seat, cards)
    play.record("ATTACK", seat, CardsPlayed([WIRE[card] for card in cards], ids))
    play.card_played(seat)
    return play


def _throw_in(state: DurakState, seat: int, action: ThrowIn, now_ms: int) -> Play:
    if state.phase not in (Phase.DEFEND, Phase.THROW_IN):
        raise InvalidPhase
    if seat == state.defender or not is_living(state, seat):
        raise NotYourTurn
    cards = action.cards
    if _held(state, seat, cards) & ~open_ranks(state):
        raise InvalidThrowIn
    if len(state.table) + len(cards) > state.limit:
        raise TableLimit

    play = Play(state, now_ms)
    if not state.taking:
        play.state.phase = Phase.DEFEND
    ids = play.put_on_table(seat, cards)
    play.record("THROW_IN", seat, CardsPlayed([WIRE[card] for card in cards], ids))
    if not play.card_played(seat) and state.taking:
        play.settle_window(now_ms)
    return play


def _beat(state: DurakState, seat: int, action: Beat, now_ms: int) -> Play:
    _require_defender(state, seat)
    card = action.card
    held = _held(state, seat, (card,))
    table = state.table
    for index, (attack_id, attack, defence) in enumerate(table):  # noqa: B007  # used after it
        if attack_id == action.attack_id:
            break
    else:
        raise InvalidBeat
    if defence != NO_CARD or not beats(card, attack, SUIT[state.trump_card]):
        raise InvalidBeat

    play = Play(state, now_ms)
    play.state.table = (*table[:index], (attack_id, attack, card), *table[index + 1 :])
    play.set_hand(seat, state.hands[seat] ^ held)
    play.record("BEAT", seat, Beaten(attack_id, WIRE[card]))
    if play.card_played(seat):
        return play
    if all(pair[2] != NO_CARD for pair in play.state.table):
        play.open_window()
    return play


def _translate(state: DurakState, seat: int, action: Translate, now_ms: int) -> Play:
    if state.options.mode is not Mode.TRANSFER:
        raise InvalidAction
    _require_defender(state, seat)
    card = action.card
    _held(state, seat, (card,))
    if error := translate_error(state, card):
        raise error

    play = Play(state, now_ms)
    (attack_id,) = play.put_on_table(seat, (card,))
    play.record("TRANSLATE", seat, Translated(WIRE[card], attack_id))
    if play.card_played(seat):
        return play
    play.state.attacker = seat
    play.set_defender(next_living(play.state, seat))
    play.record_roles("translated")
    return play


def _take(state: DurakState, seat: int, now_ms: int) -> Play:
    _require_defender(state, seat)

    play = Play(state, now_ms)
    play.record("TAKE", seat)
    if state.options.throw_in_after_take:
        play.state.taking = True
        play.restart_clock(now_ms)
        play.open_window()
    else:
        play.take_trick(now_ms)
    return play


def _pass(state: DurakState, seat: int, now_ms: int) -> Play:
    if state.phase is not Phase.THROW_IN:
        raise InvalidPhase
    if not window_seats(state) >> seat & 1:
        raise NotYourTurn

    play = Play(state, now_ms)
    play.pass_window(seat)
    play.settle_window(now_ms)
    return play


def _set_auto_pass(state: DurakState, seat: int, action: SetAutoPass, now_ms: int) -> Play:
    play = Play(state, now_ms)
    if not action.on:
        play.state.auto_pass &= ~(1 << seat)
        return play
    play.state.auto_pass |= 1 << seat
    if state.phase is Phase.THROW_IN and window_seats(state) >> seat & 1:
        play.settle_window(now_ms)
    return play


def _resign(state: DurakState, seat: int, now_ms: int) -> Play:
    if not is_living(state, seat):
        raise NotYourTurn

    play = Play(state, now_ms)
    play.record("RESIGN", seat)
    play.leave_last(seat)
    return play


def _require_defender(state: DurakState, seat: int) -> None:
    if state.phase is not Phase.DEFEND:
        raise InvalidPhase
    if seat != state.defender:
        raise NotYourTurn


def _held(state: DurakState, seat: int, cards: tuple[Card, ...]) -> CardSet:
    """Collect the cards of an action, refusing what the deck or the hand does not have."""
    collected = set_of(cards)
    if collected & ~state.hands[seat]:
        raise CardNotInHand
    return collected


def extend_deadline(state: DurakState, by_ms: int) -> DurakState:
    """Give back the time of an outage."""
    if state.deadline_ms is None:
        return state
    return msgspec.structs.replace(state, deadline_ms=state.deadline_ms + by_ms)
