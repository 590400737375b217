"""The envelope: what is refused before anybody asks who sent it (spec §15; vectors PR-04..07)."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from realtime.domain import envelope
from realtime.domain.envelope import BadFrame, parse, payload_of

VECTORS = Path(__file__).parents[4] / "tests" / "vectors" / "durak.json"
REQUEST = "0190a5d2-7c1e-7000-8000-000000000001"
GAME = "0190a5d2-7c1e-7000-8000-000000000002"


def message(**fields: Any) -> bytes:
    whole = {
        "version": 1, "request_id": REQUEST, "type": "TAKE", "game_id": GAME, "sequence": 12,
        "payload": {},
    }  # fmt: skip
    return json.dumps({**whole, **fields}).encode()


def without(*names: str, **fields: Any) -> bytes:
    whole = json.loads(message(**fields))
    return json.dumps({name: value for name, value in whole.items() if name not in names}).encode()


def code_of(data: bytes) -> str:
    with pytest.raises(BadFrame) as refused:
        parse(data)
    return refused.value.error.code


def vector(name: str) -> dict[str, Any]:
    document = json.loads(VECTORS.read_text())
    found = [entry for group in _lists(document) for entry in group if entry.get("id") == name]
    assert len(found) == 1
    return dict(found[0])


def _lists(value: Any) -> list[list[dict[str, Any]]]:
    if isinstance(value, list):
        return [value] if value and isinstance(value[0], dict) and "id" in value[0] else []
    if isinstance(value, dict):
        return [group for part in value.values() for group in _lists(part)]
    return []


def test_a_whole_message_is_read() -> None:
    frame = parse(message(payload={"cards": [{"rank": 6, "suit": 1}]}, type="ATTACK"))

    assert (frame.type, frame.request_id, frame.game_id) == ("ATTACK", UUID(REQUEST), UUID(GAME))
    assert frame.sequence == 12
    assert json.loads(payload_of(frame)) == {"cards": [{"rank": 6, "suit": 1}]}


def test_pr_04_another_version_is_refused() -> None:
    case = vector("PR-04")

    codes = [code_of(message(**{k: v for k, v in when.items() if k != "cards"}))
             for when in case["when"]]  # fmt: skip

    assert codes == case["then"]["results"]


def test_pr_05_an_unknown_type_is_refused() -> None:
    case = vector("PR-05")

    assert [code_of(message(**when)) for when in case["when"]] == case["then"]["results"]


def test_pr_06_no_json_no_request_id_and_a_text_for_a_sequence_are_refused() -> None:
    case = vector("PR-06")

    raw, no_id, text_sequence = case["when"]
    codes = [
        code_of(raw["raw"].encode()),
        code_of(without("request_id", **no_id)),
        code_of(message(type="TAKE", sequence=text_sequence["sequence"])),
    ]

    assert codes == case["then"]["results"]


def test_pr_07_the_card_of_translate_is_taken_from_either_place() -> None:
    case = vector("PR-07")

    payloads = [
        json.loads(payload_of(parse(without("payload", **when) if "card" in when
                                    else message(**when))))
        for when in case["when"]
    ]  # fmt: skip

    assert payloads == [{"card": {"rank": 9, "suit": 3}}] * 2


def test_pr_08_fields_that_name_identity_are_ignored() -> None:
    frame = parse(message(player_id=1, seat=0, role="admin", deadline=5, payout=100))

    assert not {"player_id", "seat", "role", "deadline", "payout"} & set(frame.__struct_fields__)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"[]", b"1", b"null", b'"TAKE"', b"\xff\xfe", message() + b" x",
        message(sequence=1.5), message(sequence=True), message(sequence=[1]),
        message(request_id="u"), message(request_id=7), message(game_id="x"),
        message(version="1"), message(type=5), message(payload=[1]), message(payload="x"),
        message(payload=3), message(type=""), message(type="attack"),
        without("type"), without("game_id"), without("request_id"),
        message(payload={"cards": [{"rank": 6}] * 300}),
        b'{"type":"PING","payload":' + b"[" * 7000 + b"]" * 7000 + b"}",
    ],
)  # fmt: skip
def test_a_wrong_shape_is_an_invalid_request(data: bytes) -> None:
    assert code_of(data) == "ERR_INVALID_REQUEST"


def test_a_message_over_the_limit_is_refused_unread() -> None:
    fitting = message(payload={"x": "y" * (envelope.MAX_BYTES - 300)})

    assert parse(fitting).type == "TAKE"
    assert code_of(fitting + b" " * 400) == "ERR_INVALID_REQUEST"


def test_a_missing_version_is_not_supported() -> None:
    assert code_of(without("version")) == "ERR_PROTOCOL_VERSION"


def test_a_wrong_shape_is_found_before_a_wrong_version() -> None:
    assert code_of(without("request_id", version=2)) == "ERR_INVALID_REQUEST"


def test_the_request_id_of_a_wrong_message_comes_back_with_the_error() -> None:
    for data in (message(sequence="x"), message(version=2), message(type="SHUFFLE")):
        with pytest.raises(BadFrame) as refused:
            parse(data)
        assert refused.value.request_id == UUID(REQUEST)


def test_messages_of_the_session_need_neither_game_nor_sequence() -> None:
    for type_ in ("WATCH_LOBBY", "UNWATCH_LOBBY", "PING", "AUTH"):
        assert parse(without("game_id", "sequence", "payload", type=type_)).type == type_


def test_ping_and_auth_may_come_without_a_request_id() -> None:
    assert parse(b'{"version":1,"type":"PING"}').request_id is None
    assert parse(b'{"version":1,"type":"AUTH","payload":{}}').request_id is None


def test_the_game_named_by_the_path_replaces_the_message_s() -> None:
    other = UUID("0190a5d2-7c1e-7000-8000-00000000000f")

    assert parse(without("game_id"), other).game_id == other
    assert parse(message(), other).game_id == other


def test_an_absent_payload_is_an_empty_object() -> None:
    assert payload_of(parse(without("payload"))) == b"{}"
    assert payload_of(parse(message(payload=None))) == b"{}"


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "TRANSLATE", "card": [[]] * 201},
        {"type": "TRANSLATE", "card": {}, "payload": {"card": [[]] * 201}},
        {"type": "ATTACK", "payload": {"cards": [{}] * 201}},
    ],
)
def test_an_action_with_too_many_brackets_is_refused_wherever_they_are(
    fields: dict[str, Any],
) -> None:
    assert code_of(message(**fields)) == "ERR_INVALID_REQUEST"


def test_a_card_beside_the_payload_may_be_as_deep_as_cards_are() -> None:
    absent = without("payload", type="TRANSLATE", card={"rank": 6, "suit": 1})

    assert json.loads(payload_of(parse(absent))) == {"card": {"rank": 6, "suit": 1}}
