"""Brings every service's schema to its newest migration, as the schema's owner."""

from collections.abc import Callable

from samovar import paths
from samovar.background import run_blocking
from samovar.errors import StackError
from samovar.services import SERVICES


def migrate(owner_url: Callable[[str], str]) -> list[str]:
    """Upgrade all schemas; return the names of the services that have migrations.

    Services without a folder of migrations are skipped. A run that finds nothing to do changes
    nothing.
    """
    done: list[str] = []
    for service in SERVICES.values():
        folder = paths.migrations_of(service.directory)
        if service.schema is None or folder is None:
            continue
        # Loaded here: Alembic and SQLAlchemy would slow down every other command.
        from shared.migrations import upgrade

        url = owner_url(service.schema)
        try:
            run_blocking(lambda folder=folder, url=url: upgrade(folder, url))  # type: ignore[misc]
        except Exception as error:  # a migration may raise anything; one line names its cause
            cause = str(error).partition("\n")[0]
            raise StackError(f"the migration of {service.name} failed: {cause}") from error
        done.append(service.name)
    return done
