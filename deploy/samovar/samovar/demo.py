"""``samovar demo``: two players, a stake, a match to the end, and the money afterwards.

Everything goes through the public API, as any client would do it; only the verification of the
ledger at the end looks into the database.
"""

import asyncio
import contextlib
import secrets
import time
from dataclasses import dataclass
from typing import Annotated, Final

import httpx
import typer

from games.shuffle import commitment
from samovar import ledger, paths, state
from samovar.api import Api, ApiError, Endpoints
from samovar.client import Frame, PlayerClient, Refused
from samovar.embedded.stack import Infra
from samovar.errors import StackError
from samovar.playing import play
from samovar.ports import LOOPBACK
from samovar.story import Story

STAKE: Final = 100
NAMES: Final = ("Anna", "Boris")
_LIMIT_S: Final = 180.0  # with every service restarted in between; else it takes seconds
_STEP_LIMIT_S: Final = 30.0
_PUSH_LIMIT_S: Final = 10.0
_PAID: Final = ("payout", "refund")

app = typer.Typer(invoke_without_command=True, help="Let two players play a staked match.")


@dataclass(frozen=True, slots=True)
class Player:
    """Somebody of the demo: his API, his socket, and what he had before the match."""

    api: Api
    client: PlayerClient
    coins_before: int

    @property
    def name(self) -> str:
        return self.api.nickname


@app.callback()
def run(
    url: Annotated[str | None, typer.Option(help="Origin; by default what 'up' runs.")] = None,
    pace: Annotated[float, typer.Option(min=0, help="Seconds before each move.")] = 0.12,
    ledger_url: Annotated[
        str | None,
        typer.Option(
            envvar="SAMOVAR_LEDGER_DATABASE_URL",
            help="postgresql:// URL to verify the ledger with; by default what 'up' runs.",
        ),
    ] = None,
) -> None:
    """Let two players sign up, stake coins and play Durak to the end; verify the ledger."""
    if url is None:
        recorded = state.read(paths.home())
        if recorded is None:
            raise StackError("Samovar does not run; start it with 'make up', or give --url")
        url = f"http://{LOOPBACK}:{recorded.ports['edge']}"
        local = Infra(paths.home(), fixed=recorded.ports)
        ledger_url = ledger_url or local.database_url("economy")
    demo(url, pace_s=pace, ledger_url=ledger_url)


def demo(base_url: str, *, pace_s: float = 0.12, ledger_url: str | None = None) -> None:
    """Play and tell the demo against a platform that runs.

    Raises:
        StackError: saying what was not as it should be.
        typer.Exit: the ledger does not hold; what is wrong has been printed.
    """
    started = time.monotonic()
    try:
        asyncio.run(_demo(base_url, pace_s))
    except (ApiError, Refused) as error:
        raise StackError(f"the demo was refused: {error}") from error
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise StackError(f"nobody answers at {base_url} ({error})") from error
    except TimeoutError as error:
        why = str(error) or f"{_LIMIT_S:.0f} s were not enough"
        raise StackError(f"the demo did not come to its end: {why}") from error
    print()
    if ledger_url is None:
        print("The ledger was not verified: its database is not at hand (--ledger-url)")
    else:
        ledger.verify_command(ledger_url)
    print(f"\nAll is as it should be, after {time.monotonic() - started:.1f} s.")


async def _demo(base_url: str, pace_s: float) -> None:
    endpoints = Endpoints.of_edge(base_url)
    await _require_answer(base_url)
    async with asyncio.timeout(_LIMIT_S), contextlib.AsyncExitStack() as stack:
        print(f"Two players sign up at {base_url}")
        players = [await _welcome(stack, endpoints, name) for name in NAMES]
        game_id = await _sit_down(players)
        finished = await _match(players, game_id, pace_s)
        _tell_end(players, game_id, finished)
        await _tell_money(players, game_id)


async def _require_answer(base_url: str) -> None:
    """Fail at once where nobody listens; later on, silence is waited out."""
    async with httpx.AsyncClient(timeout=10, trust_env=False) as http:
        await http.get(f"{base_url.rstrip('/')}/.well-known/jwks.json")


async def _welcome(stack: contextlib.AsyncExitStack, endpoints: Endpoints, name: str) -> Player:
    """Sign a player up, look into the wallet, connect."""
    api = await stack.enter_async_context(Api(endpoints))
    email = f"{name.lower()}.{secrets.token_hex(8)}@example.com"
    await api.sign_up(name, email=email, password=secrets.token_urlsafe(16))
    coins = (await api.get("/v1/wallet"))["available"]
    client = await stack.enter_async_context(PlayerClient(api))
    print(f"  {name} has {coins:,} coins")
    return Player(api, client, coins)


async def _sit_down(players: list[Player]) -> str:
    """Fill a room and wait until everybody sees cards; return the game's id."""
    maker, joiner = players
    wish = {"game": "durak", "mode": "throw_in", "players_count": len(players), "bet": STAKE}
    room = await maker.api.post("/v1/rooms", wish)
    print(f"{maker.name} opens a room for two with a stake of {STAKE}")
    room = await joiner.api.post(f"/v1/rooms/{room['room_id']}/join")
    print(f"{joiner.name} takes the other seat")
    game_id: str = room["game_id"]
    for player in players:
        await _see_cards(player, game_id)
    return game_id


async def _see_cards(player: Player, game_id: str) -> None:
    games = player.client.games

    def has_cards() -> bool:
        game = games.get(game_id)
        return game is not None and game.state is not None and game.hand is not None

    try:
        await player.client.until(has_cards, _STEP_LIMIT_S)
    except TimeoutError:
        raise StackError(f"{player.name} was not dealt any cards") from None


async def _match(players: list[Player], game_id: str, pace_s: float) -> Frame:
    """Play to the end on both sides; return GAME_FINISHED."""
    teller = players[0].client
    story = Story(lambda line: print(line, flush=True))
    print("\nThe match")
    story.begin(teller.games[game_id])
    teller.on_frame = story.hear
    ends = await asyncio.gather(
        *(play(player.client, game_id, pace_s=pace_s) for player in players)
    )
    if any(end["result"] != ends[0]["result"] for end in ends):
        raise StackError("the players were told different results")
    return ends[0]


def _tell_end(players: list[Player], game_id: str, finished: Frame) -> None:
    moves = sum(len(player.client.acknowledged) for player in players)
    print(f"\nThe end, after {moves} acknowledged moves")
    result = finished["result"]
    if result["finish_kind"] != "normal":
        raise StackError(f"the match ended as {result['finish_kind']}, not by its rules")
    names = {player.api.player_id: player.name for player in players}
    places = {each["place"]: names[each["player_id"]] for each in result["standings"]}
    print(f"  {places[1]} wins, {places[2]} is left with cards: the durak")
    started = players[0].client.games[game_id].started
    if started is None:
        print("  (the promise of the deck was missed while the line was down)")
    elif commitment(bytes.fromhex(finished["seed"])) != started["commitment"]:
        raise StackError("the seed of the deck is not the one promised before the deal")
    else:
        print(f"  the deck was as promised before the deal: {started['commitment']}")


async def _tell_money(players: list[Player], game_id: str) -> None:
    ledgers = await _settled_ledgers(players, game_id)
    print("\nCoins")
    paid = 0
    for player, entries in zip(players, ledgers, strict=True):
        coins = await _final_coins(player)
        if coins != sum(entry["amount"] for entry in entries):
            raise StackError(f"{player.name} has {coins} coins, which is not what the ledger says")
        paid += coins - player.coins_before + STAKE
        print(f"  {player.name:<8} had {player.coins_before:>7,}, has {coins:>7,}")
    pool = STAKE * len(players)
    if not 0 < paid <= pool:
        raise StackError(f"{paid} coins were paid out of a pool of {pool}")
    print(f"  of the pool of {pool} the house keeps {pool - paid}")
    for player, entries in zip(players, ledgers, strict=True):
        print(f"\nLedger of {player.name}")
        for entry in reversed(entries):
            print(f"  {entry['created_at'][:19]}  {entry['reason']:<8} {entry['amount']:>+7,}")


async def _settled_ledgers(players: list[Player], game_id: str) -> list[list[Frame]]:
    """Return the entries of each player, newest first, once the game is paid."""
    give_up_at = time.monotonic() + _STEP_LIMIT_S
    while time.monotonic() < give_up_at:
        ledgers = [(await player.api.get("/v1/wallet/transactions"))["items"] for player in players]
        entries = [entry for ledger in ledgers for entry in ledger]
        if any(e["game_id"] == game_id and e["reason"] in _PAID for e in entries):
            return ledgers
        await asyncio.sleep(0.2)
    raise StackError(f"the game was not paid within {_STEP_LIMIT_S:.0f} s")


async def _final_coins(player: Player) -> int:
    """Return what the wallet holds, once the player has also been told by BALANCE_UPDATED."""
    client = player.client
    wallet = await player.api.get("/v1/wallet")
    coins: int = wallet["available"]
    if wallet["held"]:
        raise StackError(f"{wallet['held']} coins of {player.name} are still held")
    try:
        await client.until(
            lambda: (
                client.balance is not None
                and (client.balance["available"], client.balance["held"]) == (coins, 0)
            ),
            _PUSH_LIMIT_S,
        )
    except TimeoutError:
        # Pushes come at most once; only a connection that stood all the time has no excuse.
        if client.connections == 1:
            raise StackError(f"{player.name} was not told the new balance") from None
        print(f"  ({player.name} missed BALANCE_UPDATED while the line was down)")
    return coins
