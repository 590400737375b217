"""The frames that clients get, each encoded once, here.

What is public has nothing of a hand in it: public frames are made of the public view and the
public payloads only.
"""

from typing import Any

import msgspec
from msgspec import Raw

from game_engine.domain.change import Change, NewEvent
from game_engine.domain.record import GameInfo, GameRecord, encode_json
from shared.contracts.engine import BotTurn, GamePush
from shared.contracts.realtime import PROTOCOL_VERSION

_VERSION = b'"version":%d' % PROTOCOL_VERSION
_EVENT = (
    b'{"type":"GAME_EVENT",%b,"game_id":"%%b","sequence":%%d,"event":"%%b","seat":%%b,'
    b'"payload":%%b}' % _VERSION
)


def push_of(change: Change, after: GameRecord, now_ms: int) -> GamePush:
    """Build what one commit tells: the public frames, and private ones where they changed."""
    info = after.info
    public = []
    for event in change.events:
        public.append(Raw(event_frame(info, event)))
        if event.type == "FORFEIT":
            public.append(Raw(forfeited_frame(info, event)))
    public.append(Raw(state_frame(after, now_ms)))
    if after.deadline_ms is not None and after.deadline_ms != change.before.deadline_ms:
        public.append(Raw(timer_frame(after, now_ms)))
    if after.result is not None:
        public.append(Raw(finished_frame(after)))
    before, now = private_views_of(change.before), private_views_of(after)
    private = {
        info.players[seat]: [Raw(private_frame(after, seat))]
        for seat in range(len(info.players))
        if now[seat] != before[seat] and not info.bots[seat]
    }
    return GamePush(
        change.before.sequence, after.sequence, public, private, after.result is not None
    )


def view_frames(record: GameRecord, seat: int | None, now_ms: int) -> list[Raw]:
    """Show the present state to a seat, or to a spectator (None)."""
    frames = [Raw(state_frame(record, now_ms))]
    if seat is not None:
        frames.append(Raw(private_frame(record, seat)))
    if record.deadline_ms is not None:
        frames.append(Raw(timer_frame(record, now_ms)))
    if record.result is not None:
        frames.append(Raw(finished_frame(record)))
    return frames


def bot_turns(record: GameRecord) -> list[BotTurn]:
    """Show each bot seat that may act exactly what it sees."""
    info = record.info
    if not info.has_bots or record.result is not None:
        return []
    rules = info.rules
    seats = [
        seat
        for seat, is_bot in enumerate(info.bots)
        if is_bot and rules.legal_actions(record.state, seat)
    ]
    if not seats:
        return []
    public = Raw(encode_json(rules.public_view(record.state)))
    views = private_views_of(record)
    return [
        BotTurn(
            info.game_id, info.players[seat], seat, rules.name, rules.rules_version,
            record.sequence, public, Raw(views[seat]),
        )
        for seat in seats
    ]  # fmt: skip


def private_views_of(record: GameRecord) -> tuple[bytes, ...]:
    """Return what each seat alone sees, as JSON; made once for each record."""
    views = record.private_views
    if views is None:
        view, state = record.info.rules.private_view, record.state
        views = tuple([encode_json(view(state, seat)) for seat in range(len(record.info.players))])
        record.private_views = views
    return views


def state_frame(record: GameRecord, now_ms: int) -> bytes:
    """GAME_STATE: the public view with the players' names and the deadline."""
    info = record.info
    view = msgspec.structs.asdict(info.rules.public_view(record.state))
    view["players"] = [
        Raw(head + encode_json(player)[1:])
        for head, player in zip(info.seat_heads, view["players"], strict=True)
    ]
    deadline_ms = record.deadline_ms
    times: dict[str, Any] = {
        "deadline": None if deadline_ms is None else deadline_ms // 1000,
        "deadline_ms": deadline_ms,
        "server_now_ms": now_ms,
        "status": record.status,
    }
    return _frame(
        b"GAME_STATE", record, b",%b,%b" % (encode_json(view)[1:-1], encode_json(times)[1:-1])
    )


def private_frame(record: GameRecord, seat: int) -> bytes:
    """YOUR_HAND: what this seat alone sees."""
    return _frame(b"YOUR_HAND", record, b",%b" % private_views_of(record)[seat][1:-1])


def timer_frame(record: GameRecord, now_ms: int) -> bytes:
    """TURN_TIMER, for a game that has a deadline."""
    deadline_ms = record.deadline_ms or 0
    return _frame(
        b"TURN_TIMER",
        record,
        b',"deadline":%d,"deadline_ms":%d,"server_now_ms":%d'
        % (deadline_ms // 1000, deadline_ms, now_ms),
    )


def finished_frame(record: GameRecord) -> bytes:
    """GAME_FINISHED: the result without money, and the seed that proves the deal."""
    fields = {
        "result": record.result,
        "seed": record.info.seed.hex(),
        "commitment": record.info.commitment,
    }
    return _frame(b"GAME_FINISHED", record, b",%b" % encode_json(fields)[1:-1])


def event_frame(info: GameInfo, event: NewEvent) -> bytes:
    """GAME_EVENT: the public part of one event."""
    return _EVENT % (
        info.id_text,
        event.sequence,
        event.type.encode(),
        b"null" if event.seat is None else b"%d" % event.seat,
        event.payload,
    )


def forfeited_frame(info: GameInfo, event: NewEvent) -> bytes:
    """PLAYER_FORFEITED."""
    fields = {"seat": event.seat, "player_id": info.players[event.seat or 0]}
    return b'{"type":"PLAYER_FORFEITED",%b,"game_id":"%b","sequence":%d,%b' % (
        _VERSION,
        info.id_text,
        event.sequence,
        encode_json(fields)[1:],
    )


def _frame(type_: bytes, record: GameRecord, fields: bytes) -> bytes:
    return b'{"type":"%b",%b,"game_id":"%b","sequence":%d%b}' % (
        type_,
        _VERSION,
        record.info.id_text,
        record.sequence,
        fields,
    )
