"""Moves on their way."""

from typing import Any, cast
from uuid import uuid4

import msgspec
import pytest

from realtime.backend import Moves
from shared.bus.requester import Requester
from shared.contracts.engine import ActRequest


async def test_a_move_that_cannot_even_be_written_is_not_under_way() -> None:
    nobody = cast(Requester, None)
    moves = Moves(nobody, patience_s=1)
    wrong: Any = object()
    request = ActRequest(uuid4(), uuid4(), uuid4(), 1, wrong, msgspec.Raw(b"{}"))

    with pytest.raises(TypeError):
        moves.act(request, lambda _: None)

    assert moves.under_way == 0
