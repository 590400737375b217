"""``/v1/wallet``: one's own money (economy)."""

from typing import Annotated

from fastapi import APIRouter, Query

from realtime.rest.access import ERRORS, Caller, UseFacade, is_guest
from shared.contracts.economy import (
    GET_BALANCE,
    LIST_TRANSFERS,
    Balance,
    GetBalance,
    ListTransfers,
    Transfers,
)

router = APIRouter(prefix="/v1", tags=["wallet"], responses=ERRORS)


@router.get("/wallet")
async def get_balance(facade: UseFacade, caller: Caller) -> Balance:
    """Show what is available and what is held as stakes."""
    request = GetBalance(player_id=caller.player_id, registered=not is_guest(caller))
    return await facade.backend.ask(GET_BALANCE, request)


@router.get("/wallet/transactions")
async def list_transactions(
    facade: UseFacade,
    caller: Caller,
    cursor: Annotated[str | None, Query(max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Transfers:
    """List what came in and went out, newest first."""
    request = ListTransfers(player_id=caller.player_id, cursor=cursor, limit=limit)
    return await facade.backend.ask(LIST_TRANSFERS, request)
