"""Composition of the bot service: where turns come from, and who plays them."""

import random
from typing import cast

import structlog

from bot.player import Player
from bot.settings import Settings
from bot.turns import Turns
from shared.bus import Bus
from shared.contracts.base import decode
from shared.contracts.engine import BOT_PUSH, LIST_WAITING_BOTS, BotTurn, NoContent
from shared.errors import UNKNOWN_OUTCOME, InvalidRequest
from shared.lifecycle import Service

GROUP = "bot"  # each push goes to one replica

log = structlog.get_logger()


async def compose(service: Service) -> None:
    """Take turns from the engine's pushes, and those whose push was lost from its list."""
    settings = cast(Settings, service.settings)
    player = Player(service.bus, act_timeout_s=settings.act_timeout_s)

    def think_s() -> float:
        return random.uniform(settings.think_min_s, settings.think_max_s)  # noqa: S311  # a pause

    turns = Turns(player.play, think_s, max_thinking=settings.max_thinking)

    async def on_push(_: str, payload: bytes) -> None:
        try:
            turns.offer(decode(BotTurn, payload))
        except InvalidRequest:
            log.warning("unreadable turn")

    async def poll() -> None:
        await offer_waiting(service.bus, turns)

    service.job("turns", turns.run)
    await service.bus.watch_shared(BOT_PUSH, GROUP, on_push)
    service.every("poll", settings.poll_interval_s, poll)


async def offer_waiting(bus: Bus, turns: Turns) -> None:
    """Offer every turn the engine waits for; what replicas play twice, the engine takes once."""
    try:
        reply = await bus.call(LIST_WAITING_BOTS, NoContent())
    except UNKNOWN_OUTCOME as error:
        log.info("the engine does not answer", code=error.code)
        return
    for turn in reply.turns:
        turns.offer(turn)
