"""The status table: what there is, where, and in which state."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from samovar import state
from samovar.state import StackState
from samovar.supervisor import Platform

_COLOURS = {"ready": "green", "starting": "yellow"}


def render(rows: list[state.ChildState]) -> Table:
    """Lay out rows as a table."""
    table = Table(title="Samovar", title_justify="left", title_style="bold")
    for heading in ("what", "where", "state"):
        table.add_column(heading)
    for row in rows:
        colour = _COLOURS.get(row.state, "red")
        restarts = f", restarts: {row.restarts}" if row.restarts else ""
        pid = f" (pid {row.mark.pid}{restarts})" if row.mark else ""
        table.add_row(row.name, row.place, f"[{colour}]{escape(row.state)}[/]{pid}")
    return table


def check(platform: Platform, recorded: StackState) -> list[state.ChildState]:
    """Ask every child now; what the supervisor recorded is only where to look."""
    servers = {server.name: server for server in platform.in_order}
    rows = []
    for child in recorded.children:
        is_alive = child.mark is not None and child.mark.find() is not None
        found = child.state
        if not is_alive and found in ("ready", "starting"):
            found = "gone"
        elif is_alive:
            found = "ready" if servers[child.name].is_ready() else "not answering"
            if found != "ready" and child.state == "starting":
                found = "starting"
        rows.append(state.ChildState(child.name, child.place, found, child.restarts, child.mark))
    return rows


def show(console: Console, rows: list[state.ChildState], url: str) -> None:
    """Print the table and the address to open."""
    console.print(render(rows))
    console.print(f"Samovar is at [bold]{url}[/]")
