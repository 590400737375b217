import re
from uuid import UUID

import pytest

from shared.contracts import auth, economy, engine, walls
from shared.contracts.base import decode, encode, json_schema
from shared.contracts.registry import commands_by_subject, events, pushes
from shared.errors import Internal, InvalidRequest


def test_subjects_are_unique_and_well_formed():
    subjects = [
        *commands_by_subject(),
        *(e.pattern for e in events()),
        *(p.pattern for p in pushes()),
    ]

    assert len(subjects) == len(set(subjects))
    assert all(re.fullmatch(r"(rpc|evt|push)\.[a-z0-9_.]+(\.\*)?", subject) for subject in subjects)


def test_every_command_has_schemas_and_only_typed_refusals():
    for command in commands_by_subject().values():
        assert json_schema(command.request)
        assert json_schema(command.reply)
        assert Internal not in command.errors


def test_every_message_with_a_shape_survives_the_codec():
    request = economy.GetHold(hold_id=UUID(int=1))
    act = engine.ActReply(sequence=3)

    assert decode(economy.GetHold, encode(request)) == request
    assert decode(engine.ActReply, encode(act)) == act


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"hold_id": 1}', b'{"hold_id": "x", "y": 1}'])
def test_bytes_that_are_not_the_message_are_an_invalid_request(data):
    with pytest.raises(InvalidRequest):
        decode(economy.GetHold, data)


def test_settle_may_be_called_by_the_engine_only():
    may = [user for user, wall in walls.WALLS.items() if economy.SETTLE.subject in wall.publish]

    assert may == ["game_engine"]


def test_only_the_bot_service_may_act_for_bots_and_only_the_gateway_for_people():
    def callers(command):
        return [u for u, wall in walls.WALLS.items() if command.subject in wall.publish]

    assert callers(engine.BOT_ACT) == ["bot"]
    assert callers(engine.ACT) == ["realtime"]
    assert callers(auth.REDEEM_TICKET) == ["realtime"]


def test_nobody_listens_to_the_inbox_or_the_commands_of_another():
    for user, wall in walls.WALLS.items():
        inboxes = [s for s in wall.subscribe if s.startswith("_INBOX_")]
        assert inboxes == [f"_INBOX_{user}.>"]
        owners = {s.split(".")[1] for s in wall.subscribe if s.startswith("rpc.")}
        assert len(owners) <= 1


def test_a_push_may_be_published_by_its_owners_only():
    for push in pushes():
        may = {u for u, wall in walls.WALLS.items() if push.pattern in wall.publish}
        assert may == set(push.owners)
