"""E-mail addresses: their syntax, and the form in which they are compared."""

import unicodedata
from dataclasses import dataclass

import email_validator

from auth.domain.passwords import is_text
from shared.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Email:
    """``address`` is what mail is sent to, ``key`` what must be unique (case does not count)."""

    address: str
    key: str


def parse(raw: str) -> Email:
    """Check the syntax of an address; asks no name server.

    Raises:
        InvalidRequest: if it is not an address mail can be sent to.
    """
    try:
        if not is_text(raw):
            raise ValueError
        checked = email_validator.validate_email(raw.strip(), check_deliverability=False)
    except ValueError as error:  # EmailNotValidError is one
        # The validator's text may repeat the address, which must not reach a log.
        raise InvalidRequest("This is not an e-mail address.", fields=["email"]) from error
    address = checked.normalized
    return Email(address, unicodedata.normalize("NFKC", address).casefold())
