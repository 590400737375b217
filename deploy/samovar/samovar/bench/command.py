"""The command ``samovar bench``."""

from typing import Annotated

import typer

from samovar.bench.run import bench

app = typer.Typer()


@app.callback(invoke_without_command=True)
def main(
    tables: Annotated[int, typer.Option(min=1, help="Games played at the same time.")] = 200,
    seconds: Annotated[float, typer.Option(min=1, help="Measured seconds of each load.")] = 10,
    rate: Annotated[float, typer.Option(min=1, help="Moves/s offered in the second load.")] = 300,
) -> None:
    """Load a platform of its own with Durak games; exit code 1 if the mark is missed."""
    if not bench(tables, seconds, rate):
        raise typer.Exit(1)
