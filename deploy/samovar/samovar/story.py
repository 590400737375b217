"""A game of Durak told in words, from the events that everybody may see."""

from collections.abc import Callable

from samovar.client import Frame, Game

_SUITS = "♣♦♥♠"
_RANKS = {11: "J", 12: "Q", 13: "K", 14: "A"}


def card_text(card: Frame) -> str:
    """Write a card of the wire as in ``10♥``."""
    return f"{_RANKS.get(card['rank'], card['rank'])}{_SUITS[card['suit']]}"


def cards_text(cards: list[Frame]) -> str:
    """Write cards of the wire, with spaces between."""
    return " ".join(map(card_text, cards))


class Story:
    """Tells each event once, in order; a gap (a connection that was away) is told as one."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._names: list[str] = []
        self._told = 0
        self._attacks: dict[int, str] = {}
        self._drawn: list[str] = []
        self._deck = 0

    def begin(self, game: Game) -> None:
        """Set the scene by the first GAME_STATE."""
        state = game.state
        if state is None:
            return
        self._names = [player["nickname"] for player in state["players"]]
        self._told = game.sequence
        trump = state["trump_card"]
        shown = card_text(trump) if trump else _SUITS[state["trump_suit"]]
        self._say(
            f"The trump is {shown}, {state['deck_count']} cards are left in the deck. "
            f"{self._names[state['attacker_seat']]} opens."
        )

    def hear(self, frame: Frame) -> None:
        """Tell a GAME_EVENT; other frames, and events told before, are passed over."""
        if not self._names or frame["type"] != "GAME_EVENT" or frame["sequence"] <= self._told:
            return
        missed = frame["sequence"] - self._told - 1
        self._told = frame["sequence"]
        if missed:
            self._say(f"  … {missed} more happened while the line was down")
            self._attacks.clear()
            self._drawn.clear()
        self._tell(frame["event"], frame["seat"], frame["payload"])

    def _tell(self, event: str, seat: int | None, payload: Frame) -> None:
        name = self._names[seat] if seat is not None else ""
        match event:
            case "ATTACK":
                self._say(f"{name} attacks with {self._lay(payload)}")
            case "THROW_IN":
                self._say(f"  {name} throws in {self._lay(payload)}")
            case "BEAT":
                attack = self._attacks.get(payload["attack_id"], "the card")
                self._say(f"  {name} beats {attack} with {card_text(payload['card'])}")
            case "TRANSLATE":
                card = card_text(payload["card"])
                self._attacks[payload["attack_id"]] = card
                self._say(f"  {name} passes it on with {card}")
            case "PASS":
                self._say(f"  {name} adds nothing")
            case "TAKE":
                self._say(f"  {name} takes")
            case "DRAW":
                self._drawn.append(f"{name} draws {payload['count']}")
                self._deck = payload["deck_count"]
            case "TURN_CHANGED":
                self._turn(payload)
            case "TURN_TIMEOUT":
                self._say(f"  time is up{f' for {name}' if name else ''}")
            case "RECOVERY":
                self._say("  (the clock was stopped for an outage)")
            case "FORFEIT" | "RESIGN":
                self._say(f"  {name} gives up")

    def _lay(self, payload: Frame) -> str:
        texts = list(map(card_text, payload["cards"]))
        self._attacks.update(zip(payload["attack_ids"], texts, strict=True))
        return " ".join(texts)

    def _turn(self, payload: Frame) -> None:
        if payload["trick"] in ("beaten", "taken"):
            self._attacks.clear()
            parts = ["  all beaten, discarded"] if payload["trick"] == "beaten" else []
            if self._drawn:
                drawn = ", ".join(self._drawn)
                parts.append(f"{'' if parts else '  '}{drawn} ({self._deck} left in the deck)")
            if parts:
                self._say("; ".join(parts))
        self._drawn.clear()
