import json
from pathlib import Path

import pytest

from shared import errors

SPEC_CODES = [
    "ERR_UNAUTHORIZED", "ERR_FORBIDDEN", "ERR_INVALID_REQUEST", "ERR_PROTOCOL_VERSION",
    "ERR_GAME_NOT_FOUND", "ERR_GAME_FINISHED", "ERR_PLAYER_NOT_IN_GAME",
    "ERR_PLAYER_FORFEITED", "ERR_INVALID_PHASE", "ERR_NOT_YOUR_TURN", "ERR_INVALID_ACTION",
    "ERR_INVALID_CARD", "ERR_CARD_NOT_IN_HAND", "ERR_INVALID_BEAT", "ERR_INVALID_TRANSLATE",
    "ERR_INVALID_THROW_IN", "ERR_TABLE_LIMIT", "ERR_STALE_STATE", "ERR_TIMEOUT",
    "ERR_ROOM_NOT_FOUND", "ERR_ROOM_FULL", "ERR_ROOM_STARTED", "ERR_INVALID_BET",
    "ERR_INSUFFICIENT_FUNDS", "ERR_HOLD_FAILED", "ERR_ALREADY_JOINED", "ERR_ALREADY_FINALIZED",
    "ERR_INTERNAL",
]  # fmt: skip
PROTOCOL_CODES = [
    "ERR_RATE_LIMITED", "ERR_INVALID_CREDENTIALS", "ERR_EMAIL_TAKEN", "ERR_TOKEN_EXPIRED",
    "ERR_SESSION_REVOKED", "ERR_IDEMPOTENCY_MISMATCH", "ERR_UNAVAILABLE", "ERR_WORD_TOO_SHORT",
    "ERR_WORD_USED", "ERR_WORD_UNKNOWN", "ERR_WORD_PATH", "ERR_LETTER_PLACE",
    "ERR_INVALID_HINT", "ERR_INVALID_GUESS", "ERR_NO_PROPOSAL",
]  # fmt: skip


def test_the_registry_has_exactly_the_codes_of_the_specification_and_of_the_protocol():
    assert set(errors.REGISTRY) == {*SPEC_CODES, *PROTOCOL_CODES}


@pytest.mark.parametrize("kind", errors.REGISTRY.values(), ids=list(errors.REGISTRY))
def test_every_error_has_a_status_and_a_text_in_both_languages(kind):
    assert 400 <= kind.http_status < 600
    assert kind.message
    assert kind.message.isascii()
    assert not kind.message_ru.isascii()


def test_an_error_survives_the_way_through_its_code():
    error = errors.from_code("ERR_STALE_STATE", "text", sequence=7)

    assert isinstance(error, errors.StaleState)
    assert (str(error), error.details) == ("text", {"sequence": 7})


def test_an_unknown_code_becomes_internal():
    assert isinstance(errors.from_code("ERR_FROM_THE_FUTURE"), errors.Internal)


def test_a_code_cannot_be_declared_twice():
    with pytest.raises(TypeError, match="declared twice"):
        type("Copy", (errors.AppError,), {"code": "ERR_ROOM_FULL"})


def test_a_broken_invariant_is_a_bug_and_not_an_answer():
    with pytest.raises(errors.InvariantBrokenError, match="coins"):
        errors.assert_invariant(False, "coins")


def test_the_documented_table_is_up_to_date():
    table = (Path(__file__).parents[3] / "docs/generated/errors.json").read_text()

    assert set(json.loads(table)) == set(errors.REGISTRY)
