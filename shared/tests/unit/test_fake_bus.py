"""The fake keeps the promises of the real bus that unit tests rely on."""

from uuid import uuid4

import pytest

from shared import errors
from shared.bus.fake import FakeBus
from shared.contracts import economy
from shared.contracts.realtime import USER_PUSH


@pytest.fixture
async def served():
    bus, calls = FakeBus(), []

    async def handler(request):
        calls.append(request)
        return economy.HoldView(hold_id=request.hold_id, status=None)

    await bus.serve(economy.GET_HOLD, handler)
    return bus, calls


async def test_a_command_reaches_its_handler_through_the_codec(served):
    bus, calls = served
    request = economy.GetHold(hold_id=uuid4())

    reply = await bus.call(economy.GET_HOLD, request)

    assert (reply.hold_id, calls) == (request.hold_id, [request])


async def test_a_lost_request_does_nothing_and_a_lost_reply_hides_what_was_done(served):
    bus, calls = served
    request = economy.GetHold(hold_id=uuid4())
    bus.lose_requests.append(economy.GET_HOLD.subject)
    with pytest.raises(errors.UNKNOWN_OUTCOME):
        await bus.call(economy.GET_HOLD, request)
    assert calls == []

    bus.lose_replies.append(economy.GET_HOLD.subject)
    with pytest.raises(errors.UNKNOWN_OUTCOME):
        await bus.call(economy.GET_HOLD, request)
    assert calls == [request]

    assert (await bus.call(economy.GET_HOLD, request)).hold_id == request.hold_id


async def test_nobody_serving_means_outcome_unknown_and_refusals_are_declared_ones(served):
    bus, _ = served

    async def refuse(request):
        raise errors.RoomFull

    await bus.serve(economy.GET_SETTLEMENT, refuse)

    with pytest.raises(errors.UNKNOWN_OUTCOME):
        await bus.call(economy.GET_BALANCE, economy.GetBalance(player_id=uuid4()))
    with pytest.raises(errors.Internal):
        await bus.call(economy.GET_SETTLEMENT, economy.GetSettlement(game_id=uuid4()))


async def test_pushes_are_recorded():
    bus = FakeBus()

    await bus.push(USER_PUSH, "p", b"{}")

    assert bus.pushed == [("push.v1.user.p", b"{}")]
