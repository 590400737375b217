"""How a session ends, and how it is extended."""

from services.realtime.tests.integration.world import World, until
from shared.contracts.auth import Identity


async def test_a_token_that_runs_out_is_announced_and_then_closes(world: World) -> None:
    client = await world.enter(world.auth.identity(seconds=2))

    assert await client.closed() == 4401

    (notice,) = client.of("NOTICE")
    assert notice["code"] == "TOKEN_EXPIRES"
    assert notice["expires_at_ms"] > 0
    assert client.frames[-1]["code"] == "ERR_TOKEN_EXPIRED"


async def test_the_announcement_comes_before_the_end(around: World) -> None:
    await around.start_gateway(expiry_notice_s=3598)

    client = await around.enter(around.auth.identity(seconds=3600))

    assert (await client.next("NOTICE"))["code"] == "TOKEN_EXPIRES"
    await client.settle()


async def test_auth_with_a_fresh_token_extends_the_session(world: World) -> None:
    first = world.auth.identity(seconds=2)
    client = await world.enter(first)
    later = world.auth.identity(first.player_id)

    reply = await client.ask("AUTH", payload={"access_token": world.auth.token(later)})
    assert reply["type"] == "ACTION_ACCEPTED"
    short_lived = await world.enter(world.auth.identity(seconds=2))
    assert await short_lived.closed() == 4401  # so the first token is over as well

    await client.settle()
    await world.auth.revoke(later.session_id)
    assert await client.closed() == 4401


async def test_auth_as_another_player_is_forbidden_and_changes_nothing(world: World) -> None:
    client = await world.enter()

    stranger = world.auth.token(world.auth.identity())
    reply = await client.ask("AUTH", payload={"access_token": stranger})

    assert (reply["type"], reply["code"]) == ("ERROR", "ERR_FORBIDDEN")
    await client.settle()


async def test_auth_with_a_bad_token_leaves_an_open_session_alone(world: World) -> None:
    client = await world.enter()

    reply = await client.ask("AUTH", payload={"access_token": "nonsense"})

    assert (reply["type"], reply["code"]) == ("ERROR", "ERR_UNAUTHORIZED")
    await client.settle()


async def test_a_ticket_s_socket_lives_as_long_as_its_session(world: World) -> None:
    ticket = world.auth.ticket(world.auth.identity(seconds=1))

    client = await world.open(f"{world.gateway.url}?ticket={ticket}")

    assert await client.closed() == 4401


async def test_a_revoked_session_closes_its_sockets_and_no_others(world: World) -> None:
    revoked = world.auth.identity()
    other = world.auth.identity(revoked.player_id)
    first, second = await world.enter(revoked), await world.enter(revoked)
    untouched = await world.enter(other)

    await world.auth.revoke(revoked.session_id)

    assert [await first.closed(), await second.closed()] == [4401, 4401]
    assert first.frames[-1]["code"] == "ERR_SESSION_REVOKED"
    await untouched.settle()
    again = await _try_again(world, revoked)
    assert again == 4401


async def test_a_revocation_that_nobody_heard_is_found_soon(world: World) -> None:
    identity = world.auth.identity()
    client = await world.enter(identity)

    await world.auth.revoke(identity.session_id, is_heard=False)

    assert await client.closed() == 4401


async def test_a_revocation_during_a_nats_outage_is_found_after_it(around: World) -> None:
    await around.start_gateway(revoked_reload_s=600)
    identity = around.auth.identity()
    client = await around.enter(identity)
    nats = around.gateway.service.bus.client

    await around.auth.revoke(identity.session_id, is_heard=False)
    await nats.force_reconnect()

    assert await client.closed() == 4401
    await until(lambda: nats.is_connected)


async def _try_again(world: World, identity: Identity) -> int:
    token = world.auth.token(identity)
    client = await world.open(
        world.gateway.url, additional_headers={"Authorization": f"Bearer {token}"}
    )
    return await client.closed()
