"""The order in which checks of a command fail, and what a verdict says."""

from uuid import UUID, uuid4

import pytest

from game_engine.domain.judge import StoredReply, body_hash, judge, judge_expiry
from game_engine.domain.outages import Outage, Outages

NOW_MS = 1_800_000_000_000
TURN_MS = 30_000
OUTSIDER = UUID(int=99)
CARD = b'{"card":{"rank":6,"suit":0}}'


def attacker_of(game):
    return game.record.state.attacker


def refused(game, code, command, **given):
    verdict = game.judge(command, **given)
    assert verdict.error is not None
    assert verdict.error.code == code
    return verdict


def forfeited(game):
    change = judge_expiry(game.record, NOW_MS + TURN_MS, Outages())
    game.record = change.after()
    return game


def test_an_unknown_game_is_not_found(deal):
    command = deal().legal()

    assert judge(None, None, command, Outages()).error.code == "ERR_GAME_NOT_FOUND"


# Each command breaks the rule it is named for and every one after it.
PRECEDENCE = [
    ("ERR_INVALID_REQUEST", {"type": "SHUFFLE", "player_id": OUTSIDER, "sequence": 0}),
    ("ERR_INVALID_REQUEST", {"payload": b'{"cards":[]}', "player_id": OUTSIDER, "sequence": 0}),
    ("ERR_PLAYER_NOT_IN_GAME", {"player_id": OUTSIDER, "sequence": 0, "is_bot": True}),
    ("ERR_FORBIDDEN", {"sequence": 0, "is_bot": True}),
    ("ERR_STALE_STATE", {"sequence": 0, "type": "TRANSLATE", "payload": CARD}),
    ("ERR_STALE_STATE", {"sequence": 1_000_000}),
    ("ERR_INVALID_ACTION", {"type": "TRANSLATE", "payload": CARD}),
    ("ERR_INVALID_PHASE", {"type": "TAKE", "payload": b"{}"}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "changes"), PRECEDENCE)
def test_the_first_check_that_fails_names_the_error(deal, code, changes):
    game = deal()

    verdict = refused(game, code, game.legal(**changes))

    assert verdict.change is None
    if code != "ERR_PLAYER_NOT_IN_GAME":
        assert verdict.error.details == {"sequence": game.record.sequence}


def test_a_known_request_is_answered_before_anything_is_checked_of_the_game(deal):
    game = forfeited(deal())
    command = deal().legal(sequence=0)
    digest = first_digest(deal(), command)

    verdict = game.judge(command, stored=StoredReply(digest, 8))

    assert (verdict.error, verdict.sequence, verdict.change) == (None, 8, None)


def test_a_known_request_with_another_body_is_refused(deal):
    game = deal()

    refused(game, "ERR_INVALID_REQUEST", game.legal(), stored=StoredReply(b"other", 8))


def test_after_a_forfeit_the_forfeiter_and_the_others_hear_different_codes(deal):
    game = deal()
    loser = attacker_of(game)
    forfeited(game)

    refused(game, "ERR_PLAYER_FORFEITED", game.command(loser, "TAKE", sequence=0))
    refused(game, "ERR_GAME_FINISHED", game.command(1 - loser, "TAKE", sequence=0))


def test_a_late_command_finds_the_game_expired_and_the_expiry_is_committed(deal):
    game = deal()
    command = game.legal(arrived_ms=NOW_MS + TURN_MS)

    verdict = refused(game, "ERR_PLAYER_FORFEITED", command)

    change = verdict.change
    assert [event.type for event in change.events] == ["TURN_TIMEOUT", "FORFEIT", "GAME_FINISHED"]
    assert not any(event.is_cause for event in change.events)
    assert verdict.error.details == {"sequence": change.after().sequence}
    assert change.after().result.finish_kind.value == "forfeit"


def test_a_command_one_millisecond_before_the_deadline_is_in_time(deal):
    game = deal()

    assert game.judge(game.legal(arrived_ms=NOW_MS + TURN_MS - 1)).error is None


def test_an_accepted_command_advances_the_sequence_by_its_events(deal):
    game = deal()
    command = game.legal()

    verdict = game.judge(command)

    after = verdict.change.after()
    assert verdict.sequence == after.sequence == game.record.sequence + len(verdict.change.events)
    assert after.revision == game.record.revision + 1
    cause = verdict.change.cause
    assert (cause.player_id, cause.request_id) == (command.player_id, command.request_id)
    assert [event.is_cause for event in verdict.change.events].count(True) == 1
    assert verdict.change.events[0].is_cause


def test_a_command_without_a_sequence_is_never_stale(deal):
    game = deal()

    assert game.judge(game.legal(sequence=None)).error is None


def test_a_pass_does_not_make_others_stale_but_a_card_does(deal):
    game = deal(3)
    to_open_window(game)
    seen = game.record.sequence
    passing, other = game.rules.awaited_seats(game.record.state)

    game.record = game.judge(game.command(passing, "PASS")).change.after()

    assert game.record.sequence == seen + 1
    assert game.judge(game.command(other, "PASS", sequence=seen)).error is None


def test_a_preference_raises_no_sequence_and_is_remembered(deal):
    game = deal()
    command = game.command(0, "SET_AUTO_PASS", {"on": True})

    verdict = game.judge(command)

    after = verdict.change.after()
    assert verdict.change.events == []
    assert after.sequence == game.record.sequence
    assert after.revision == game.record.revision + 1
    game.record = after
    again = game.judge(command)
    assert (again.change, again.error, again.sequence) == (None, None, verdict.sequence)
    other = game.command(0, "SET_AUTO_PASS", {"on": False}, request_id=command.request_id)
    refused(game, "ERR_INVALID_REQUEST", other)


def test_only_the_latest_preferences_are_kept(deal):
    game = deal()

    for _ in range(50):
        game.record = game.judge(game.command(0, "SET_AUTO_PASS", {"on": True})).change.after()

    assert len(game.record.preferences) == 16


def test_key_order_and_unknown_fields_do_not_make_another_body(deal):
    game = deal()
    command = game.legal()
    first = game.judge(command).change.cause.body_hash
    noisy = command.payload[:-1] + b',"seat":1,"player_id":7}'

    second = game.judge(game.legal(payload=noisy, request_id=uuid4())).change.cause.body_hash

    assert first == second


def test_an_expiry_before_the_deadline_or_after_the_end_changes_nothing(deal):
    game = deal()

    assert judge_expiry(game.record, NOW_MS + TURN_MS - 1, Outages()) is None
    assert judge_expiry(None, NOW_MS, Outages()) is None
    assert judge_expiry(forfeited(game).record, NOW_MS + 10 * TURN_MS, Outages()) is None


def test_an_outage_puts_the_deadline_off_and_the_next_write_says_so(deal):
    game = deal()
    outages = Outages([Outage(NOW_MS + 10_000, NOW_MS + 70_000)])

    assert judge_expiry(game.record, NOW_MS + 80_000, outages) is None
    change = game.judge(game.legal(arrived_ms=NOW_MS + 80_000), outages=outages).change

    assert change.events[0].type == "RECOVERY"
    assert b'"extended_ms":60000' in change.events[0].payload
    assert change.after().deadline_ms == NOW_MS + 80_000 + TURN_MS


def test_a_command_that_waited_through_an_outage_is_judged_by_its_end(deal):
    game = deal()
    outages = Outages([Outage(NOW_MS + 10_000, NOW_MS + 70_000)])

    change = game.judge(game.legal(arrived_ms=NOW_MS + 15_000), outages=outages).change

    assert change.now_ms == NOW_MS + 70_000
    assert outages.owed_ms(change.after().updated_ms, change.after().deadline_ms) == 0


def test_a_refusal_after_an_outage_writes_nothing(deal):
    game = deal()
    outages = Outages([Outage(NOW_MS + 10_000, NOW_MS + 70_000)])

    verdict = game.judge(game.command(0, "TAKE", arrived_ms=NOW_MS + 80_000), outages=outages)

    assert verdict.change is None
    assert verdict.error.details == {"sequence": game.record.sequence}


def to_open_window(game):
    """Attack and beat by hand-picked cards, until a throw-in window waits for two players."""
    state = game.record.state
    for seed in range(2000):
        candidate = type(game)(3, seed=seed.to_bytes(32, "big"))
        state = candidate.record.state
        rules = candidate.rules
        attack = rules.legal_actions(state, state.attacker)[0]
        after, _ = rules.apply(state, state.attacker, attack, NOW_MS)
        for defence in rules.legal_actions(after, after.defender):
            beaten, _ = rules.apply(after, after.defender, defence, NOW_MS)
            if len(rules.awaited_seats(beaten)) == 2:
                candidate.record.state = beaten
                game.record = candidate.record
                return
    pytest.fail("no such deal")


def first_digest(game, command):
    action = game.rules.decode_action(command.type, command.payload)
    return body_hash(command.type, action)
