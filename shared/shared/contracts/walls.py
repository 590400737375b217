"""Who may say what on NATS: the least rights of every user, rendered into the server's config.

Rights follow from the descriptors: a service serves its own commands, calls those listed here,
publishes its own events and pushes, and consumes the events listed here.
"""

from dataclasses import dataclass, field

from shared.contracts import auth, economy, engine, lobby, realtime
from shared.contracts.base import Command, Event, Push
from shared.contracts.registry import events

STREAM = "EVENTS"
ALL_PUSHES: tuple[Push, ...] = (
    auth.SESSION_PUSH, engine.GAME_PUSH, engine.BOT_PUSH, lobby.LOBBY_PUSH,
    realtime.USER_PUSH, realtime.PRESENCE_PUSH,
)  # fmt: skip

Calls = tuple[Command, ...]  # type: ignore[type-arg]  # any request, any reply


@dataclass(frozen=True, slots=True)
class Wall:
    """Rights of one NATS user, as lists of subjects."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Rights:
    owner: str | None = None  # name in rpc.* and evt.* subjects; None: serves nothing
    calls: Calls = ()
    consumes: tuple[Event, ...] = ()  # type: ignore[type-arg]  # any payload
    watches: tuple[Push, ...] = ()
    extra_publish: tuple[str, ...] = field(default=())


_RIGHTS: dict[str, _Rights] = {
    "auth": _Rights("auth"),
    "lobby": _Rights(
        "lobby",
        calls=(
            auth.GET_PROFILES, auth.LIST_BOTS,
            economy.PLACE_HOLD, economy.RELEASE_HOLD, economy.CAPTURE_HOLDS, economy.GET_SETTLEMENT,
            engine.CREATE_GAME, engine.ABANDON_GAME, engine.GET_GAME,
        ),
        consumes=(engine.GAME_FINISHED, economy.SETTLEMENT_COMPLETED),
    ),
    "game_engine": _Rights(
        "engine",
        calls=(economy.SETTLE, economy.GET_SETTLEMENT),
        consumes=(economy.SETTLEMENT_COMPLETED,),
        extra_publish=("$SRV.PING.realtime",),  # without a gateway nobody can move
    ),
    "economy": _Rights(
        "economy", calls=(lobby.CHECK_SEAT, engine.GET_GAME, engine.ABANDON_GAME)
    ),
    "realtime": _Rights(
        "realtime",
        calls=(
            auth.REDEEM_TICKET, auth.GET_JWKS, auth.LIST_REVOKED,
            lobby.CREATE_ROOM, lobby.JOIN_ROOM, lobby.JOIN_BY_CODE, lobby.LEAVE_ROOM,
            lobby.ADD_BOT, lobby.GET_ROOM, lobby.LIST_ROOMS, lobby.LIST_PLAYER_ROOMS,
            engine.ACT, engine.GET_VIEW, engine.GET_SEQUENCES, engine.LIST_GAMES,
            engine.LIST_EVENTS,
            economy.GET_BALANCE, economy.LIST_TRANSFERS,
        ),
        watches=(
            auth.SESSION_PUSH, engine.GAME_PUSH, lobby.LOBBY_PUSH, realtime.USER_PUSH,
            realtime.PRESENCE_PUSH,
        ),
    ),
    "bot": _Rights(
        "bot", calls=(engine.BOT_ACT, engine.LIST_WAITING_BOTS), watches=(engine.BOT_PUSH,)
    ),
    "operator": _Rights(
        calls=(economy.ADJUST, economy.GET_BALANCE, economy.GET_HOLD, economy.GET_SETTLEMENT,
               engine.GET_GAME, engine.LIST_EVENTS, lobby.GET_ROOM),
    ),
}  # fmt: skip


def _wall(user: str, rights: _Rights) -> Wall:
    publish = [command.subject for command in rights.calls]
    publish += [push.pattern for push in ALL_PUSHES if user in push.owners]
    publish += rights.extra_publish
    subscribe = [f"_INBOX_{user}.>"]
    if rights.owner is not None:
        publish += [event.pattern for event in events() if event.owner == rights.owner]
        subscribe += [f"rpc.{rights.owner}.v1.>", "$SRV.>"]
    if rights.consumes:
        publish += [
            f"$JS.API.CONSUMER.INFO.{STREAM}.{user}",
            f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{user}",
            f"$JS.ACK.{STREAM}.{user}.>",
        ]
    subscribe += [push.pattern for push in rights.watches]
    return Wall(tuple(publish), tuple(subscribe))


WALLS: dict[str, Wall] = {user: _wall(user, rights) for user, rights in _RIGHTS.items()}
WALLS["operator"] = Wall(
    (*WALLS["operator"].publish, "$SRV.>", f"$JS.API.STREAM.INFO.{STREAM}"),
    WALLS["operator"].subscribe,
)
WALLS["bootstrap"] = Wall(("$JS.API.>",), ("_INBOX_bootstrap.>",))

# Durable pull consumers of the stream: durable name (= NATS user) -> subjects.
CONSUMERS: dict[str, tuple[str, ...]] = {
    user: tuple(event.pattern for event in rights.consumes)
    for user, rights in _RIGHTS.items()
    if rights.consumes
}
