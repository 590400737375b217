"""The text of NATS's configuration: users and rights from ``shared.contracts.walls``."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shared.contracts.walls import WALLS, Wall

# Longer than any caller waits; the right to answer a request ends here.
_RESPONSE_EXPIRES: Final = "10s"
_STORE_MAX: Final = "4GB"


@dataclass(frozen=True, slots=True)
class NatsOptions:
    """Where the server listens and keeps its stream; ``fsync``: events survive a power failure."""

    host: str
    port: int
    store: Path
    fsync: bool = True


def render(options: NatsOptions, passwords: Mapping[str, str]) -> str:
    """Render the whole configuration. It holds passwords: keep the file private.

    ``passwords`` has one entry for each user of the walls, and ``system``.
    """
    return "\n".join([_server(options), render_accounts(passwords), ""])


def render_accounts(passwords: Mapping[str, str]) -> str:
    """Render accounts, users and rights alone, for a configuration that includes them."""
    users = ",\n".join(_user(name, wall, passwords[name]) for name, wall in WALLS.items())
    return f"""\
accounts {{
  SAMOVAR {{
    jetstream: enabled
    users: [
{users}
    ]
  }}
  SYS {{ users: [ {{ user: system, password: {_quote(passwords["system"])} }} ] }}
}}
system_account: SYS
"""


def _server(options: NatsOptions) -> str:
    return f"""\
server_name: samovar
listen: {_quote(f"{options.host}:{options.port}")}
max_payload: 1MB
max_pending: 64MB
ping_interval: 20s
write_deadline: 5s
jetstream {{
  store_dir: {_quote(str(options.store))}
  max_memory_store: 64MB
  max_file_store: {_STORE_MAX}
  sync_interval: {"always" if options.fsync else '"2m"'}
}}
"""


def _user(name: str, wall: Wall, password: str) -> str:
    # Only who serves requests needs the right to answer them.
    answers = any(subject.startswith("rpc.") for subject in wall.subscribe)
    responses = (
        f"\n          allow_responses: {{ max: 1, expires: {_quote(_RESPONSE_EXPIRES)} }}"
        if answers
        else ""
    )
    return f"""\
      {{
        user: {_quote(name)}, password: {_quote(password)}
        permissions {{
          publish: {_subjects(wall.publish)}
          subscribe: {_subjects(wall.subscribe)}{responses}
        }}
      }}"""


def _subjects(allowed: Sequence[str]) -> str:
    # To NATS an empty list of allowed subjects means "everything".
    if not allowed:
        return '{ deny: [">"] }'
    return "{ allow: [" + ", ".join(_quote(subject) for subject in allowed) + "] }"


def _quote(text: str) -> str:
    return json.dumps(text)
