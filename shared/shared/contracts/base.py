"""Descriptors of commands, events and pushes, and their codec.

A subject is written in this package only; both ends of a message use its descriptor.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import msgspec
from pydantic import BaseModel, ConfigDict, ValidationError

from shared.errors import AppError, InvalidRequest


class Message(BaseModel):
    """Base of pydantic messages. Unknown fields are refused: they are somebody's mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Q = TypeVar("Q", bound=Message | msgspec.Struct)
R = TypeVar("R", bound=Message | msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Command(Generic[Q, R]):
    """A request with one owner and one reply; idempotent by ids that the caller makes.

    Attributes:
        owner: Service that serves it.
        errors: Typed refusals the caller must expect; anything else means "outcome unknown".
        timeout_s: Default patience of a caller.
    """

    owner: str
    name: str
    request: type[Q]
    reply: type[R]
    errors: tuple[type[AppError], ...] = ()
    timeout_s: float = 3.0

    @property
    def subject(self) -> str:
        return f"rpc.{self.owner}.v1.{self.name}"


@dataclass(frozen=True, slots=True)
class Event(Generic[Q]):
    """A fact, published at least once through the owner's outbox; consumers assume no order."""

    owner: str
    name: str
    payload: type[Q]
    key: Callable[[Q], object]

    def subject(self, payload: Q) -> str:
        return f"evt.{self.owner}.v1.{self.name}.{self.key(payload)}"

    @property
    def pattern(self) -> str:
        return f"evt.{self.owner}.v1.{self.name}.*"


@dataclass(frozen=True, slots=True)
class Push:
    """A message at most once; receivers repair by sequence or by asking.

    Attributes:
        kind: Second-last token of the subject.
        owners: Services that may publish it.
    """

    kind: str
    owners: tuple[str, ...]
    has_key: bool = True

    def subject(self, key: object = None) -> str:
        return f"push.v1.{self.kind}.{key}" if self.has_key else f"push.v1.{self.kind}"

    @property
    def pattern(self) -> str:
        return f"push.v1.{self.kind}.*" if self.has_key else f"push.v1.{self.kind}"


def encode(message: Message | msgspec.Struct) -> bytes:
    """Serialise a message to JSON bytes."""
    if isinstance(message, msgspec.Struct):  # first: asking for Message is slow (an ABC)
        return msgspec.json.encode(message)
    return message.model_dump_json().encode()


def decode(kind: type[Q], data: bytes) -> Q:
    """Parse JSON bytes to a message of the given kind.

    Raises:
        InvalidRequest: if the bytes are not such a message.
    """
    try:
        if issubclass(kind, Message):
            return cast(Q, kind.model_validate_json(data))
        return cast(Q, msgspec.json.decode(data, type=kind))
    except (ValidationError, msgspec.DecodeError) as error:
        raise InvalidRequest(f"not a {kind.__name__}") from error


def json_schema(kind: type[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a message kind (documentation and compatibility tests)."""
    if issubclass(kind, Message):
        return kind.model_json_schema()
    return msgspec.json.schema(kind)
