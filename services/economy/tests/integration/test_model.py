"""Economy against a model made of dictionaries: any order of commands gives the same money."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from economy import settlement, store, usecases
from economy.audit import find_violations
from samovar.addresses import Addresses
from shared.contracts.economy import (
    Adjust,
    Balance,
    FinishKind,
    HoldStatus,
    PlaceHold,
    Settle,
)
from shared.db import Database, Tx
from shared.errors import HoldFailed, InsufficientFunds
from shared.ids import new_id
from tests.integration.bank import Room, a_capture, a_hold, a_release, a_result

R = TypeVar("R")

GRANT = 1000
PLAYERS = 4
ROOMS = 3
SHARES = {2: (7, 0), 3: (4, 3, 0), 4: (4, 2, 1, 0)}  # eighths

players = st.integers(0, PLAYERS - 1)
rooms = st.integers(0, ROOMS - 1)
amounts = st.sampled_from([8, 101, 700])
any_index = st.integers(0, 1000)


class EconomyMachine(RuleBasedStateMachine):
    """Runs each command against PostgreSQL and against dictionaries."""

    loop: asyncio.AbstractEventLoop
    db: Database

    def __init__(self) -> None:
        super().__init__()
        self.players = [new_id() for _ in range(PLAYERS)]
        self.rooms = [new_id() for _ in range(ROOMS)]
        # The model: money, holds with their status, captured rooms with the result that settled.
        self.money = dict.fromkeys(self.players, GRANT)
        self.holds: dict[UUID, tuple[PlaceHold, HoldStatus]] = {}
        self.captured: dict[UUID, Room] = {}
        self.settled: dict[UUID, Settle] = {}
        for player_id in self.players:
            self.run(lambda tx, player_id=player_id: usecases.open_account(tx, player_id, GRANT))  # type: ignore[misc]  # a default binds the loop's value

    def run(self, operation: Callable[[Tx], Awaitable[R]]) -> R:
        return self.loop.run_until_complete(self.db.run(operation))

    def live(self, room_id: UUID) -> list[PlaceHold]:
        return [
            hold
            for hold, status in self.holds.values()
            if hold.room_id == room_id and status is not HoldStatus.RELEASED
        ]

    # --- commands ---------------------------------------------------------------------------------

    @rule(player=players, room=rooms, amount=amounts)
    def place_hold(self, player: int, room: int, amount: int) -> None:
        hold = a_hold(self.players[player], self.rooms[room], amount)
        is_seated = any(other.player_id == hold.player_id for other in self.live(hold.room_id))
        is_poor = self.money[hold.player_id] < amount
        if is_seated or (hold.room_id in self.captured and not is_poor):
            with pytest.raises(HoldFailed):
                self.run(lambda tx: usecases.place_hold(tx, hold))
        elif is_poor:
            with pytest.raises(InsufficientFunds):
                self.run(lambda tx: usecases.place_hold(tx, hold))
        else:
            done = self.run(lambda tx: usecases.place_hold(tx, hold))
            assert done.reply.status is HoldStatus.HELD
            self.holds[hold.hold_id] = (hold, HoldStatus.HELD)
            self.money[hold.player_id] -= amount

    @precondition(lambda self: self.holds)
    @rule(index=any_index)
    def place_hold_again(self, index: int) -> None:
        hold, status = list(self.holds.values())[index % len(self.holds)]
        done = self.run(lambda tx: usecases.place_hold(tx, hold))
        assert done.reply.status is status
        assert not done.changed

    @precondition(lambda self: self.holds)
    @rule(index=any_index)
    def release_hold(self, index: int) -> None:
        hold, status = list(self.holds.values())[index % len(self.holds)]
        request = a_release(hold)
        if status is HoldStatus.CAPTURED:
            with pytest.raises(HoldFailed):
                self.run(lambda tx: usecases.release_hold(tx, request))
            return
        self.run(lambda tx: usecases.release_hold(tx, request))
        self.set_released(hold)

    @rule(player=players, room=rooms, amount=amounts)
    def release_unknown_hold(self, player: int, room: int, amount: int) -> None:
        hold = a_hold(self.players[player], self.rooms[room], amount)
        self.run(lambda tx: usecases.release_hold(tx, a_release(hold)))
        self.holds[hold.hold_id] = (hold, HoldStatus.RELEASED)

    @rule(room=rooms, seats=st.integers(2, 4))
    def capture_holds(self, room: int, seats: int) -> None:
        room_id = self.rooms[room]
        if room_id in self.captured:
            captured = self.captured[room_id]
            again = self.run(lambda tx: usecases.capture_holds(tx, a_capture(captured), 60))
            assert again.reply.pool == captured.bet * len(captured.players)
            return
        live = self.live(room_id)
        if len(live) < 2:
            return
        playing, left_over = live[:seats], live[seats:]
        game = Room(playing[0].amount, [hold.player_id for hold in playing], room_id)
        game.holds = [hold.hold_id for hold in playing]
        if any(hold.amount != game.bet for hold in playing):
            with pytest.raises(HoldFailed):
                self.run(lambda tx: usecases.capture_holds(tx, a_capture(game), 60))
            return
        self.run(lambda tx: usecases.capture_holds(tx, a_capture(game), 60))
        self.captured[room_id] = game
        for hold in playing:
            self.holds[hold.hold_id] = (hold, HoldStatus.CAPTURED)
        for hold in left_over:
            self.set_released(hold)

    @precondition(lambda self: self.captured)
    @rule(index=any_index, kind=st.sampled_from(FinishKind), order=st.permutations(range(4)))
    def settle(self, index: int, kind: FinishKind, order: list[int]) -> None:
        game = list(self.captured.values())[index % len(self.captured)]
        if game.room_id in self.settled:
            stored = self.settled[game.room_id]
            again = self.run(lambda tx: settlement.settle(tx, stored))
            assert again.reply.already_finalized
            assert not again.changed
            return
        count = len(game.players)
        ranking = [seat for seat in order if seat < count]  # seats by place
        result = self.a_result(game, kind, ranking)
        done = self.run(lambda tx: settlement.settle(tx, result))
        for place, seat in enumerate(ranking):
            self.money[game.players[seat]] += self.due(game, kind, place)
        self.settled[game.room_id] = result
        # What is foretold inside the transaction is what stands there after it.
        balances = {balance.player_id: balance for balance in self.balances()}
        assert {b.player_id: b for b in done.changed} == {p: balances[p] for p in game.players}

    @rule(player=players, amount=st.integers(-300, 300).filter(bool))
    def adjust(self, player: int, amount: int) -> None:
        player_id = self.players[player]
        request = Adjust(
            ticket=str(new_id()), player_id=player_id, amount=amount, note="test", actor="tester"
        )
        if self.money[player_id] + amount < 0:
            with pytest.raises(InsufficientFunds):
                self.run(lambda tx: usecases.adjust(tx, request))
            return
        self.run(lambda tx: usecases.adjust(tx, request))
        self.money[player_id] += amount

    # --- what must hold ---------------------------------------------------------------------------

    @invariant()
    def money_is_that_of_the_model(self) -> None:
        held = dict.fromkeys(self.players, 0)
        for hold, status in self.holds.values():
            is_open = status is HoldStatus.CAPTURED and hold.room_id not in self.settled
            if status is HoldStatus.HELD or is_open:
                held[hold.player_id] += hold.amount
        found = {b.player_id: (b.available, b.held) for b in self.balances()}
        assert found == {p: (self.money[p], held[p]) for p in self.players}

    def balances(self) -> list[Balance]:
        return self.run(lambda tx: store.load_balances(tx, self.players))

    def set_released(self, hold: PlaceHold) -> None:
        if self.holds[hold.hold_id][1] is HoldStatus.HELD:
            self.money[hold.player_id] += hold.amount
        self.holds[hold.hold_id] = (hold, HoldStatus.RELEASED)

    @staticmethod
    def due(game: Room, kind: FinishKind, place: int) -> int:
        """What a seat gets; in a forfeit place 0 is the forfeiter's."""
        match kind:
            case FinishKind.NORMAL:
                count = len(game.players)
                return game.bet * count * SHARES[count][place] // 8
            case FinishKind.FORFEIT:
                return game.bet if place > 0 else 0
            case FinishKind.CANCELLED:
                return game.bet

    @staticmethod
    def a_result(game: Room, kind: FinishKind, ranking: list[int]) -> Settle:
        match kind:
            case FinishKind.NORMAL:
                places: list[int | None] = [ranking.index(seat) + 1 for seat in sorted(ranking)]
                return a_result(game, places=places)
            case FinishKind.FORFEIT:
                return a_result(game, kind, forfeiter=game.players[ranking[0]])
            case FinishKind.CANCELLED:
                return a_result(game, kind)


def test_any_order_of_commands_gives_the_money_of_the_model(infra: Addresses) -> None:
    loop = asyncio.new_event_loop()
    db = Database.connect(infra.database_url("economy"), name="economy-model", pool_size=1)
    machine = type("Machine", (EconomyMachine,), {"loop": loop, "db": db})
    try:
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=40,
                stateful_step_count=30,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
        assert loop.run_until_complete(db.run(find_violations)) == []
    finally:
        loop.run_until_complete(db.close())
        loop.close()
