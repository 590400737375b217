"""Every NATS user tries to cross every wall, and is refused by the server."""

import asyncio
from types import ModuleType
from urllib.parse import urlsplit

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from samovar.addresses import Addresses
from shared.contracts import auth, economy, engine, lobby, realtime
from shared.contracts.base import Command
from shared.contracts.walls import ALL_PUSHES, CONSUMERS, STREAM, WALLS

OWNERS = {
    "auth": "auth", "lobby": "lobby", "engine": "game_engine", "economy": "economy",
    "realtime": "realtime",
}  # fmt: skip
MODULES: tuple[ModuleType, ...] = (auth, lobby, engine, economy, realtime)
COMMANDS = {
    value.subject for module in MODULES for value in vars(module).values()
    if isinstance(value, Command)
}  # fmt: skip


class Intruder:
    """A connection that collects the server's refusals."""

    # Refused to everybody; the server judges in the order of sending, so what was sent before it
    # is judged when this one's refusal arrives.
    END_MARK = "nobody.may.say.this"

    def __init__(self) -> None:
        self.connection = Client()
        self._refused: set[str] = set()
        self._judged = asyncio.Event()

    async def connect(self, infra: Addresses, user: str) -> None:
        await self.connection.connect(
            infra.nats_url,
            user=user,
            password=infra.nats_password(user),
            error_cb=self._on_error,
            allow_reconnect=False,
        )

    async def _on_error(self, error: Exception) -> None:
        assert "permissions violation" in str(error).lower(), error
        subject = str(error).split('"')[1]
        if subject == self.END_MARK:
            self._judged.set()
        else:
            self._refused.add(subject)

    async def refused_of(self, subjects: set[str]) -> set[str]:
        """Return which subjects the server refused, after all that was sent before."""
        self._judged.clear()
        await self.connection.publish(self.END_MARK)
        await asyncio.wait_for(self._judged.wait(), 5)
        # The client library makes the texts of errors lower-case.
        return {subject for subject in subjects if subject.lower() in self._refused}

    async def publish(self, subjects: set[str]) -> set[str]:
        for subject in subjects:
            await self.connection.publish(subject, b"{}")
        return await self.refused_of(subjects)

    async def subscribe(self, subjects: set[str]) -> set[str]:
        for subject in subjects:
            await self.connection.subscribe(subject)
        return await self.refused_of(subjects)


@pytest.fixture(params=sorted(WALLS))
def user(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def intruder(infra: Addresses, user: str) -> object:
    intruder = Intruder()
    await intruder.connect(infra, user)
    yield intruder
    await intruder.connection.close()


async def test_commands_of_others_can_be_sent_only_by_who_may_call_them(
    intruder: Intruder, user: str
) -> None:
    forbidden = COMMANDS - set(WALLS[user].publish)

    assert await intruder.publish(forbidden) == forbidden


async def test_allowed_commands_are_not_refused(intruder: Intruder, user: str) -> None:
    allowed = COMMANDS & set(WALLS[user].publish)

    assert await intruder.publish(allowed) == set()


async def test_facts_can_be_published_by_their_owner_only(intruder: Intruder, user: str) -> None:
    forbidden = {f"evt.{owner}.v1.made_up.1" for owner, name in OWNERS.items() if name != user}

    assert await intruder.publish(forbidden) == forbidden


async def test_pushes_can_be_sent_by_their_owners_only(intruder: Intruder, user: str) -> None:
    forbidden = {push.subject("1") for push in ALL_PUSHES if user not in push.owners}
    forbidden |= {"push.v1.made_up.1"}

    assert await intruder.publish(forbidden) == forbidden


async def test_nobody_hears_requests_or_replies_meant_for_others(
    intruder: Intruder, user: str
) -> None:
    forbidden = {f"rpc.{owner}.v1.>" for owner, name in OWNERS.items() if name != user}
    forbidden |= {f"_INBOX_{other}.>" for other in WALLS if other != user}
    forbidden |= {">", "*.>", "rpc.>", "_INBOX.>", "evt.>", "$JS.>", "$SYS.>"}

    assert await intruder.subscribe(forbidden) == forbidden


async def test_nobody_forges_a_reply_to_a_request_of_another(intruder: Intruder, user: str) -> None:
    forbidden = {f"_INBOX_{other}.1" for other in WALLS if other != user}

    assert await intruder.publish(forbidden) == forbidden


async def test_nobody_hears_pushes_that_it_does_not_deliver(intruder: Intruder, user: str) -> None:
    forbidden = {push.pattern for push in ALL_PUSHES} - set(WALLS[user].subscribe)
    forbidden |= {"push.>"}

    assert await intruder.subscribe(forbidden) == forbidden


async def test_nobody_takes_or_acknowledges_facts_of_another_consumer(
    intruder: Intruder, user: str
) -> None:
    others = set(CONSUMERS) - {user}
    forbidden = {f"$JS.ACK.{STREAM}.{other}.1.1.1.1.1" for other in others}
    if user != "bootstrap":
        forbidden |= {f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{other}" for other in others}

    assert await intruder.publish(forbidden) == forbidden


async def test_only_bootstrap_changes_streams(intruder: Intruder, user: str) -> None:
    requests = {
        f"$JS.API.STREAM.{verb}.{STREAM}" for verb in ("DELETE", "PURGE", "UPDATE", "MSG.GET")
    }
    requests |= {f"$JS.API.CONSUMER.DELETE.{STREAM}.lobby", "$JS.API.STREAM.CREATE.MINE"}
    if user == "bootstrap":
        assert await intruder.publish({f"$JS.API.STREAM.INFO.{STREAM}"}) == set()
    else:
        assert await intruder.publish(requests) == requests


async def test_the_system_account_is_closed_to_all(intruder: Intruder) -> None:
    forbidden = {"$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.SAMOVAR.CONNZ"}

    assert await intruder.publish(forbidden) == forbidden


@pytest.mark.parametrize(
    ("subject", "callers"),
    [
        (economy.SETTLE.subject, {"game_engine"}),
        (economy.PLACE_HOLD.subject, {"lobby"}),
        (economy.ADJUST.subject, {"operator"}),
        (engine.BOT_ACT.subject, {"bot"}),
        (engine.ACT.subject, {"realtime"}),
        (engine.CREATE_GAME.subject, {"lobby"}),
        (auth.REDEEM_TICKET.subject, {"realtime"}),
    ],
)
def test_money_moves_and_identities_have_the_callers_of_the_design(
    subject: str, callers: set[str]
) -> None:
    assert {user for user, wall in WALLS.items() if subject in wall.publish} == callers


async def test_a_server_may_answer_a_request_exactly_once(infra: Addresses) -> None:
    server, caller = Intruder(), Intruder()
    await server.connect(infra, "economy")
    await caller.connect(infra, "realtime")
    received: asyncio.Queue[bytes] = asyncio.Queue()

    async def answer_twice(message: Msg) -> None:
        await message.respond(b"first")
        await message.respond(b"second")

    async def receive(message: Msg) -> None:
        received.put_nowait(message.data)

    try:
        await server.connection.subscribe(economy.GET_BALANCE.subject, cb=answer_twice)
        assert await server.refused_of({economy.GET_BALANCE.subject}) == set()
        await caller.connection.subscribe("_INBOX_realtime.1", cb=receive)
        await caller.connection.publish(
            economy.GET_BALANCE.subject, b"{}", reply="_INBOX_realtime.1"
        )
        assert await asyncio.wait_for(received.get(), 5) == b"first"

        assert await server.refused_of({"_INBOX_realtime.1"})
        assert received.empty()
    finally:
        await server.connection.close()
        await caller.connection.close()


@pytest.mark.parametrize("options", ['{"user":"auth","pass":"wrong"}', "{}"])
async def test_the_door_is_closed_without_the_password(infra: Addresses, options: str) -> None:
    place = urlsplit(infra.nats_url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        await reader.readline()
        writer.write(f"CONNECT {options}\r\nPING\r\n".encode())

        assert await reader.readline() == b"-ERR 'Authorization Violation'\r\n"
    finally:
        writer.close()
        await writer.wait_closed()
