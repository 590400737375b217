"""Whole matches through the edge, as players play them."""

import asyncio
from uuid import uuid4

import pytest

from samovar.api import Api, ApiError
from samovar.client import PlayerClient, Refused
from samovar.playing import play
from tests.match import GRANT, all_events, seated, signed_up, violations


@pytest.mark.parametrize("players", [2, 3, 4])
async def test_players_sign_up_stake_play_to_the_end_and_are_paid(platform, players):
    async with seated(platform, players=players, bet=80) as match:
        results = await match.play()

        assert len({result["sequence"] for result in results}) == 1
        await match.assert_nothing_lost()
        await match.assert_paid(80)
        for player in match.players:
            wallet = await player.api.get("/v1/wallet")
            told = {"available": wallet["available"], "held": 0}
            await player.until(
                lambda player=player, told=told: (
                    player.balance and told.items() <= player.balance.items()
                ),
                10,
            )


async def test_a_friendly_game_never_touches_the_ledger(platform):
    async with seated(platform, bet=None) as match:
        await match.play()

        for player in match.players:
            page = await player.api.get("/v1/wallet/transactions")
            assert {item["reason"] for item in page["items"]} <= {"grant"}
            assert (await player.api.get("/v1/wallet"))["available"] == GRANT


async def test_one_person_alone_plays_against_a_bot(platform):
    async with Api(platform.endpoints) as api:
        await api.be_guest("Одна")
        async with PlayerClient(api) as client:
            room = await api.post(
                "/v1/rooms",
                {"game": "durak", "mode": "throw_in", "players_count": 2, "bet": None},
            )
            await api.post(f"/v1/rooms/{room['room_id']}/add-bot")
            await client.until(lambda: room["game_id"] in client.games, 15)

            finished = await asyncio.wait_for(play(client, room["game_id"]), 60)

            assert finished["result"]["finish_kind"] == "normal"


async def test_the_deal_can_be_checked_after_the_game(platform):
    from hashlib import sha256

    async with seated(platform, bet=None) as match:
        started = match.players[0].games[match.game_id].started
        results = await match.play()

        assert started is not None
        assert sha256(bytes.fromhex(results[0]["seed"])).hexdigest() == started["commitment"]


async def test_hands_and_seed_stay_hidden_while_the_game_runs(platform):
    async with seated(platform, bet=None) as match:
        events = await all_events(match.players[0].api, match.game_id)
        assert all(event["private"] is None for event in events)
        assert "seed" not in str(events)

        await match.play()

        events = await all_events(match.players[0].api, match.game_id)
        assert any(event["private"] for event in events)


async def test_a_repeated_request_acts_once_and_another_body_is_refused(platform):
    async with seated(platform, bet=None) as match:
        state = match.players[0].games[match.game_id].state
        attacker = next(
            p for p in match.players
            if p.games[match.game_id].seat_of(p.api.player_id) == state["attacker_seat"]
        )  # fmt: skip
        cards = attacker.games[match.game_id].hand["cards"]
        key = uuid4()
        path = f"/v1/games/{match.game_id}/commands"

        def command(card):
            return {
                "version": 1, "request_id": str(key), "type": "ATTACK",
                "sequence": state["sequence"], "payload": {"cards": [card]},
            }  # fmt: skip

        first = await attacker.api.post(path, command(cards[0]))
        again = await attacker.api.post(path, command(cards[0]))
        with pytest.raises(ApiError) as other:
            await attacker.api.post(path, command(cards[1]))

        assert again == first
        assert other.value.code == "ERR_INVALID_REQUEST"
        events = await all_events(attacker.api, match.game_id)
        assert [event["type"] for event in events].count("ATTACK") == 1


async def test_what_a_player_may_not_do_gets_its_code_and_changes_nothing(platform):
    async with seated(platform, bet=None) as match, signed_up(platform, 1) as [stranger]:
        game = match.players[0].games[match.game_id]
        state = game.state
        defender = next(
            p for p in match.players
            if p.games[match.game_id].seat_of(p.api.player_id) == state["defender_seat"]
        )  # fmt: skip
        attacker = next(p for p in match.players if p is not defender)
        card = defender.games[match.game_id].hand["cards"][0]

        async def code(player, type_, payload=None, **fields):
            with pytest.raises(Refused) as refused:
                await player.act(match.game_id, type_, payload, **fields)
            return refused.value.code

        attack = {"cards": [card]}
        assert await code(defender, "ATTACK", attack) == "ERR_NOT_YOUR_TURN"
        assert await code(attacker, "ATTACK", attack) == "ERR_CARD_NOT_IN_HAND"
        assert await code(attacker, "ATTACK", attack, sequence=10_000) == "ERR_STALE_STATE"
        assert await code(attacker, "ATTACK", {"cards": []}) == "ERR_INVALID_REQUEST"
        assert await code(attacker, "BEAT", {"attack_id": 1, "card": card}) == "ERR_INVALID_PHASE"
        assert await code(attacker, "TRANSLATE", {"card": card}) == "ERR_INVALID_ACTION"
        assert await code(attacker, "SHUFFLE") == "ERR_INVALID_REQUEST"
        async with PlayerClient(stranger) as client:
            client.games[match.game_id] = game
            assert await code(client, "ATTACK", attack) == "ERR_PLAYER_NOT_IN_GAME"
            with pytest.raises(Refused) as unknown:
                await client.act(str(uuid4()), "TAKE", sequence=1)
            assert unknown.value.code == "ERR_GAME_NOT_FOUND"

        view = await attacker.api.get(f"/v1/games/{match.game_id}")
        assert view["sequence"] == state["sequence"]


async def test_more_players_than_seats_get_one_refusal_each_and_no_coin_is_held(platform):
    async with signed_up(platform, 5) as apis:
        room = await apis[0].post(
            "/v1/rooms", {"game": "durak", "mode": "throw_in", "players_count": 3, "bet": 50}
        )

        async def join(api):
            try:
                await api.post(f"/v1/rooms/{room['room_id']}/join")
            except ApiError as error:
                return error.code
            return "OK"

        outcomes = await asyncio.gather(*(join(api) for api in apis[1:]))

        assert outcomes.count("OK") == 2
        assert set(outcomes) <= {"OK", "ERR_ROOM_FULL", "ERR_ROOM_STARTED"}
        held = [(await api.get("/v1/wallet"))["held"] for api in apis]
        assert sorted(held) == [0, 0, 50, 50, 50]


async def test_a_seat_cannot_be_taken_twice_or_without_coins(platform):
    async with signed_up(platform, 2) as [maker, joiner]:
        terms = {"game": "durak", "mode": "throw_in", "players_count": 3, "bet": GRANT}
        room = await maker.post("/v1/rooms", terms)
        with pytest.raises(ApiError) as twice:
            await maker.post(f"/v1/rooms/{room['room_id']}/join")
        with pytest.raises(ApiError) as poor:
            await joiner.post("/v1/rooms", {**terms, "bet": GRANT + 1})
        with pytest.raises(ApiError) as nothing:
            await joiner.post("/v1/rooms", {**terms, "bet": 0})

        assert twice.value.code == "ERR_ALREADY_JOINED"
        assert poor.value.code == "ERR_INSUFFICIENT_FUNDS"
        assert nothing.value.code == "ERR_INVALID_BET"
        assert (await joiner.get("/v1/wallet"))["held"] == 0


async def test_leaving_before_the_start_gives_the_stake_back_and_after_it_is_refused(platform):
    async with signed_up(platform, 2) as [maker, joiner]:
        terms = {"game": "durak", "mode": "throw_in", "players_count": 2, "bet": 100}
        left = await maker.post("/v1/rooms", terms)
        await maker.post(f"/v1/rooms/{left['room_id']}/leave")
        async with PlayerClient(maker) as client:
            room = await maker.post("/v1/rooms", terms)
            await joiner.post(f"/v1/rooms/{room['room_id']}/join")
            with pytest.raises(ApiError) as late:
                await maker.post(f"/v1/rooms/{room['room_id']}/leave")
            await client.until(lambda: room["game_id"] in client.games, 15)

        assert late.value.code == "ERR_ROOM_STARTED"
        assert (await maker.get("/v1/wallet"))["held"] == 100
        assert await asyncio.to_thread(violations, platform) == []


async def test_a_private_room_is_found_by_its_code_only(platform):
    async with signed_up(platform, 2) as [maker, joiner]:
        room = await maker.post(
            "/v1/rooms",
            {"game": "durak", "mode": "throw_in", "players_count": 3, "is_private": True},
        )
        with pytest.raises(ApiError) as hidden:
            await joiner.post(f"/v1/rooms/{room['room_id']}/join")
        listed = await joiner.get("/v1/rooms")
        joined = await joiner.post("/v1/rooms/join-by-code", {"join_code": room["join_code"]})

        assert hidden.value.code == "ERR_ROOM_NOT_FOUND"
        assert room["room_id"] not in {item["room_id"] for item in listed["rooms"]}
        assert joined["room_id"] == room["room_id"]


async def test_a_player_who_comes_back_gets_state_hand_and_clock_at_once(platform):
    async with seated(platform, bet=None) as match:
        api = match.players[0].api
        frames = []
        again = PlayerClient(api)
        again.on_frame = frames.append
        async with again:
            await again.until(lambda: any(f["type"] == "TURN_TIMER" for f in frames), 5)

        types = [frame["type"] for frame in frames if frame.get("game_id") == match.game_id]
        assert types[:3] == ["GAME_STATE", "YOUR_HAND", "TURN_TIMER"]
