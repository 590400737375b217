"""Every error code of the platform, declared once (spec §17, protocol §2).

A code is a stable, machine-readable name: it is never renamed or reused. The registry feeds the
documentation, the OpenAPI document and the clients.
"""

from typing import ClassVar

from typing_extensions import override

REGISTRY: "dict[str, type[AppError]]" = {}


class AppError(Exception):
    """What the caller did wrong or can fix. Everything else is a bug and becomes ERR_INTERNAL.

    Attributes:
        details: Machine-readable facts for the caller (for instance the current ``sequence``).
            Never internal details, never somebody else's data.
    """

    code: ClassVar[str] = "ERR_INTERNAL"
    http_status: ClassVar[int] = 500
    message: ClassVar[str] = "Something went wrong on our side."
    message_ru: ClassVar[str] = "Что-то сломалось на нашей стороне."

    def __init__(self, message: str | None = None, **details: object) -> None:
        super().__init__(message or self.message)
        self.details: dict[str, object] = details

    @override
    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.code in REGISTRY:
            raise TypeError(f"error code declared twice: {cls.code}")
        REGISTRY[cls.code] = cls


def from_code(code: str, message: str | None = None, **details: object) -> AppError:
    """Rebuild the error that a reply names; an unknown code becomes ERR_INTERNAL."""
    return REGISTRY.get(code, Internal)(message, **details)


class Internal(AppError):
    code = "ERR_INTERNAL"
    http_status = 500


class Unauthorized(AppError):
    code = "ERR_UNAUTHORIZED"
    http_status = 401
    message = "Sign in first."
    message_ru = "Сначала войдите."


class Forbidden(AppError):
    code = "ERR_FORBIDDEN"
    http_status = 403
    message = "You may not do this."
    message_ru = "Это вам не разрешено."


class InvalidRequest(AppError):
    code = "ERR_INVALID_REQUEST"
    http_status = 400
    message = "The request has a wrong shape."
    message_ru = "Запрос составлен неверно."


class ProtocolVersion(AppError):
    code = "ERR_PROTOCOL_VERSION"
    http_status = 400
    message = "This protocol version is not supported."
    message_ru = "Эта версия протокола не поддерживается."


class GameNotFound(AppError):
    code = "ERR_GAME_NOT_FOUND"
    http_status = 404
    message = "There is no such game."
    message_ru = "Такой игры нет."


class GameFinished(AppError):
    code = "ERR_GAME_FINISHED"
    http_status = 409
    message = "The game is over."
    message_ru = "Игра уже окончена."


class PlayerNotInGame(AppError):
    code = "ERR_PLAYER_NOT_IN_GAME"
    http_status = 403
    message = "You do not play in this game."
    message_ru = "Вы не участвуете в этой игре."


class PlayerForfeited(AppError):
    code = "ERR_PLAYER_FORFEITED"
    http_status = 409
    message = "You have forfeited this game."
    message_ru = "Вы выбыли из этой игры."


class InvalidPhase(AppError):
    code = "ERR_INVALID_PHASE"
    http_status = 409
    message = "This is not possible in the present phase."
    message_ru = "В текущей фазе это невозможно."


class NotYourTurn(AppError):
    code = "ERR_NOT_YOUR_TURN"
    http_status = 409
    message = "It is not your turn."
    message_ru = "Сейчас не ваш ход."


class InvalidAction(AppError):
    code = "ERR_INVALID_ACTION"
    http_status = 400
    message = "This game does not have this action."
    message_ru = "В этой игре нет такого действия."


class InvalidCard(AppError):
    code = "ERR_INVALID_CARD"
    http_status = 400
    message = "This card cannot be played so."
    message_ru = "Этой картой так ходить нельзя."


class CardNotInHand(AppError):
    code = "ERR_CARD_NOT_IN_HAND"
    http_status = 409
    message = "You do not hold this card."
    message_ru = "Этой карты у вас нет."


class InvalidBeat(AppError):
    code = "ERR_INVALID_BEAT"
    http_status = 409
    message = "This card does not beat that one."
    message_ru = "Эта карта не бьёт ту."


class InvalidTranslate(AppError):
    code = "ERR_INVALID_TRANSLATE"
    http_status = 409
    message = "The attack cannot be passed on with this card."
    message_ru = "Этой картой перевести нельзя."


class InvalidThrowIn(AppError):
    code = "ERR_INVALID_THROW_IN"
    http_status = 409
    message = "This card cannot be thrown in."
    message_ru = "Эту карту подкинуть нельзя."


class TableLimit(AppError):
    code = "ERR_TABLE_LIMIT"
    http_status = 409
    message = "The table takes no more cards."
    message_ru = "На столе больше нет места."


class StaleState(AppError):
    code = "ERR_STALE_STATE"
    http_status = 409
    message = "The game has moved on; look again."
    message_ru = "Игра ушла вперёд, обновите состояние."


class Timeout(AppError):
    code = "ERR_TIMEOUT"
    http_status = 504
    message = "No answer in time; repeat with the same request id."
    message_ru = "Ответ не пришёл вовремя; повторите с тем же идентификатором."


class RoomNotFound(AppError):
    code = "ERR_ROOM_NOT_FOUND"
    http_status = 404
    message = "There is no such room."
    message_ru = "Такой комнаты нет."


class RoomFull(AppError):
    code = "ERR_ROOM_FULL"
    http_status = 409
    message = "The room is full."
    message_ru = "В комнате нет мест."


class RoomStarted(AppError):
    code = "ERR_ROOM_STARTED"
    http_status = 409
    message = "The game of this room has started."
    message_ru = "Игра в этой комнате уже началась."


class InvalidBet(AppError):
    code = "ERR_INVALID_BET"
    http_status = 400
    message = "This bet is not allowed."
    message_ru = "Такая ставка недопустима."


class InsufficientFunds(AppError):
    code = "ERR_INSUFFICIENT_FUNDS"
    http_status = 409
    message = "You do not have enough coins."
    message_ru = "Не хватает монет."


class HoldFailed(AppError):
    code = "ERR_HOLD_FAILED"
    http_status = 409
    message = "The stake could not be taken; try again."
    message_ru = "Не удалось удержать ставку, попробуйте ещё раз."


class AlreadyJoined(AppError):
    code = "ERR_ALREADY_JOINED"
    http_status = 409
    message = "You already sit in a room."
    message_ru = "Вы уже сидите в комнате."


class AlreadyFinalized(AppError):
    code = "ERR_ALREADY_FINALIZED"
    http_status = 409
    message = "This game has been settled already."
    message_ru = "Расчёт этой игры уже сделан."


class RateLimited(AppError):
    code = "ERR_RATE_LIMITED"
    http_status = 429
    message = "Too many requests; wait a moment."
    message_ru = "Слишком много запросов, подождите немного."


class InvalidCredentials(AppError):
    code = "ERR_INVALID_CREDENTIALS"
    http_status = 401
    message = "Wrong e-mail or password."
    message_ru = "Неверная почта или пароль."


class EmailTaken(AppError):
    code = "ERR_EMAIL_TAKEN"
    http_status = 409
    message = "This e-mail already has an account."
    message_ru = "На эту почту уже есть учётная запись."


class TokenExpired(AppError):
    code = "ERR_TOKEN_EXPIRED"
    http_status = 401
    message = "The token has expired."
    message_ru = "Срок действия токена истёк."


class SessionRevoked(AppError):
    code = "ERR_SESSION_REVOKED"
    http_status = 401
    message = "This session has been ended."
    message_ru = "Этот сеанс завершён."


class IdempotencyMismatch(AppError):
    code = "ERR_IDEMPOTENCY_MISMATCH"
    http_status = 409
    message = "The same key was used before with another content."
    message_ru = "Этот ключ уже использован с другим содержимым."


class Unavailable(AppError):
    code = "ERR_UNAVAILABLE"
    http_status = 503
    message = "Too busy or not reachable; repeat with the same request id."
    message_ru = "Сервис перегружен или недоступен; повторите с тем же идентификатором."


class WordTooShort(AppError):
    code = "ERR_WORD_TOO_SHORT"
    http_status = 409
    message = "The word is too short."
    message_ru = "Слово слишком короткое."


class WordUsed(AppError):
    code = "ERR_WORD_USED"
    http_status = 409
    message = "The word has been played already."
    message_ru = "Это слово уже было."


class WordUnknown(AppError):
    code = "ERR_WORD_UNKNOWN"
    http_status = 409
    message = "The word is not in the dictionary."
    message_ru = "Такого слова нет в словаре."


class WordPath(AppError):
    code = "ERR_WORD_PATH"
    http_status = 409
    message = "The path through the grid is not allowed."
    message_ru = "Так слово по полю не провести."


class LetterPlace(AppError):
    code = "ERR_LETTER_PLACE"
    http_status = 409
    message = "A letter cannot be put there."
    message_ru = "Букву сюда поставить нельзя."


class InvalidHint(AppError):
    code = "ERR_INVALID_HINT"
    http_status = 409
    message = "This hint is not allowed."
    message_ru = "Такая подсказка недопустима."


class InvalidGuess(AppError):
    code = "ERR_INVALID_GUESS"
    http_status = 409
    message = "This guess is not allowed."
    message_ru = "Такая догадка недопустима."


class NoProposal(AppError):
    code = "ERR_NO_PROPOSAL"
    http_status = 409
    message = "There is no proposal to answer."
    message_ru = "Нет предложения, на которое можно ответить."


# What the rules of a game may answer to an action.
RULES_ERRORS: tuple[type[AppError], ...] = (
    CardNotInHand, GameFinished, InvalidAction, InvalidBeat, InvalidCard, InvalidGuess, InvalidHint,
    InvalidPhase, InvalidThrowIn, InvalidTranslate, LetterPlace, NoProposal, NotYourTurn,
    PlayerForfeited, TableLimit, WordPath, WordTooShort, WordUnknown, WordUsed,
)  # fmt: skip

# After these the caller does not know whether the command took effect: repeat it with the same id,
# never treat it as refused.
UNKNOWN_OUTCOME: tuple[type[AppError], ...] = (Internal, Timeout, Unavailable)


class InvariantBrokenError(Exception):
    """A bug: something that must never be false was false."""


def assert_invariant(condition: bool, what: str) -> None:
    """Check an internal invariant, also under ``python -O``.

    Raises:
        InvariantBrokenError: if the condition is false.
    """
    if not condition:
        raise InvariantBrokenError(what)
