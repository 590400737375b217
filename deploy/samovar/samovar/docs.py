"""Generated documentation: the error table and the schema of every message (``make docs``)."""

import json
from pathlib import Path
from typing import Any

import typer

from samovar import paths
from shared import errors
from shared.contracts.base import json_schema
from shared.contracts.registry import commands_by_subject, events
from shared.contracts.walls import WALLS

app = typer.Typer()


@app.callback(invoke_without_command=True)
def main() -> None:
    """Write docs/generated and docs/contracts anew."""
    for path in write(paths.project_root() / "docs"):
        print(path)


def documents() -> dict[str, str]:
    """Return every generated file: path below ``docs/`` -> text."""
    files = {
        "generated/errors.json": _json(_errors()),
        "generated/errors.md": _error_table(),
        "generated/walls.md": _wall_table(),
    }
    for subject, command in sorted(commands_by_subject().items()):
        files[f"contracts/{subject}.json"] = _json(
            {
                "request": json_schema(command.request),
                "reply": json_schema(command.reply),
                "errors": sorted(error.code for error in command.errors),
            }
        )
    for event in events():
        name = event.pattern.removesuffix(".*")
        files[f"contracts/{name}.json"] = _json({"payload": json_schema(event.payload)})
    return files


def write(root: Path) -> list[Path]:
    """Write the files below ``root``; return those that changed."""
    changed = []
    for name, text in documents().items():
        path = root / name
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            changed.append(path)
    return changed


def _errors() -> dict[str, dict[str, Any]]:
    return {
        code: {"http_status": kind.http_status, "en": kind.message, "ru": kind.message_ru}
        for code, kind in sorted(errors.REGISTRY.items())
    }


def _error_table() -> str:
    rows = "\n".join(
        f"| `{code}` | {row['http_status']} | {row['en']} | {row['ru']} |"
        for code, row in _errors().items()
    )
    return (
        "# Error codes\n\nGenerated from `shared/shared/errors.py` by `make docs`.\n\n"
        f"| code | HTTP | English | Russian |\n|---|---|---|---|\n{rows}\n"
    )


def _wall_table() -> str:
    parts = ["# Rights on NATS\n\nGenerated from `shared/shared/contracts/walls.py`.\n"]
    for user, wall in sorted(WALLS.items()):
        publish = "\n".join(f"- `{subject}`" for subject in wall.publish)
        subscribe = "\n".join(f"- `{subject}`" for subject in wall.subscribe)
        parts.append(f"\n## {user}\n\nMay publish\n\n{publish}\n\nMay subscribe\n\n{subscribe}\n")
    return "".join(parts)


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
