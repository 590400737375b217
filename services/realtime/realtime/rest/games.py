"""``/v1/games``: look at a game, its events, and act without a socket (engine)."""

from typing import Annotated, Any
from uuid import UUID

import msgspec
from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel

from realtime.commands import act_request
from realtime.domain import envelope
from realtime.rest.access import ERRORS, Caller, UseFacade
from shared import errors
from shared.contracts.engine import (
    LIST_EVENTS,
    LIST_GAMES,
    MAX_SEQUENCE,
    Events,
    GameIds,
    GameStatus,
    ListEvents,
    ListGames,
)

router = APIRouter(prefix="/v1", tags=["games"], responses=ERRORS)


class GameView(BaseModel):
    """A game as the caller may see it; ``frames`` are those a socket would get."""

    game_id: UUID
    sequence: int
    status: GameStatus
    is_private: bool
    seats: list[UUID]
    frames: list[dict[str, Any]]


class CommandBody(BaseModel):
    """The envelope of the sockets without ``game_id``; fields it does not know are ignored."""

    version: int
    request_id: UUID
    type: str
    sequence: int | None = None
    payload: dict[str, Any] = {}


class Accepted(BaseModel):
    type: str = "ACTION_ACCEPTED"
    version: int
    request_id: UUID
    game_id: UUID
    sequence: int


@router.get("/me/games")
async def my_games(facade: UseFacade, caller: Caller) -> GameIds:
    """List the running games one plays in."""
    return await facade.backend.ask(LIST_GAMES, ListGames(player_id=caller.player_id))


@router.get("/games/{game_id}", responses={200: {"model": GameView}})
async def get_game(facade: UseFacade, caller: Caller, game_id: UUID) -> Response:
    """Show the present state: to a player his seat's, to others the public one."""
    await facade.limit_states(caller.player_id)
    view = await facade.feeds.look(game_id, caller.player_id)
    frames = [msgspec.Raw(frame) for frame in await facade.feeds.frames_of(view)]
    shown = msgspec.structs.replace(view, frames=frames)
    return Response(msgspec.json.encode(shown), media_type="application/json")


@router.get("/games/{game_id}/events")
async def list_events(
    facade: UseFacade,
    caller: Caller,
    game_id: UUID,
    after: Annotated[
        int, Query(ge=0, le=MAX_SEQUENCE, description="The last sequence one has.")
    ] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Events:
    """List what happened; what is hidden comes after the end."""
    await facade.limit_states(caller.player_id)
    request = ListEvents(game_id=game_id, player_id=caller.player_id, after=after, limit=limit)
    return await facade.backend.ask(LIST_EVENTS, request)


@router.post(
    "/games/{game_id}/commands",
    response_model=Accepted,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": CommandBody.model_json_schema()}},
        }
    },
)
async def act(facade: UseFacade, caller: Caller, game_id: UUID, request: Request) -> Accepted:
    """Carry out one action; the same envelope, checks and codes as on a socket."""
    await facade.limit_commands(caller.player_id)
    body = await request.body()
    try:
        message = envelope.parse(body, game_id, facade.settings.max_frame_bytes)
    except envelope.BadFrame as bad:
        raise bad.error from None
    if message.type not in envelope.GAME_ACTIONS:
        raise errors.InvalidRequest("This type of message is for sockets.")
    command = act_request(caller.player_id, message)
    sequence = await facade.moves.act_and_wait(command)
    return Accepted(
        version=message.version, request_id=command.request_id, game_id=game_id, sequence=sequence
    )
