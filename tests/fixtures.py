"""The servers that tests use: one set a session, chosen here and nowhere else.

``SAMOVAR_TEST_INFRA`` forces a choice (``external``, ``containers`` or ``embedded``). Without it:
servers named by the environment, else containers where a Docker engine answers, else the embedded
servers.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from samovar import credentials
from samovar.addresses import Addresses
from samovar.embedded.stack import Infra
from tests.containers import container_infra, docker_answers
from tests.platform import Platform, running_platform


def infra_of_a_part() -> Any:
    """Make the fixture ``infra`` for one part of the repository (a folder's ``conftest.py``).

    Bootstrapped and migrated servers, started when the part's first test asks for them. Each part
    has its own: on shared ones a real service of one part would answer in place of another part's
    fake. Servers that the environment names are one set: run the parts one by one there.
    """

    @pytest.fixture(scope="session")
    def infra(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
        with data_directory(tmp_path_factory) as root, _choose()(root) as chosen:
            yield chosen

    return infra


@pytest.fixture(scope="module")
def own_infra(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Infra]:
    """Embedded servers of the test module alone, for tests that kill servers."""
    with data_directory(tmp_path_factory) as root, _embedded(root) as started:
        yield started


@pytest.fixture
def empty_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data directory for servers that the test starts itself."""
    with data_directory(tmp_path_factory) as root:
        yield root


@contextlib.contextmanager
def data_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make a data directory that PostgreSQL's own user can reach when tests run as root.

    pytest's directories are closed to other users. The logs stay among them.
    """
    root = Path(tempfile.mkdtemp(prefix="samovar-test-"))
    root.chmod(0o711)
    try:
        yield root
    finally:
        if (root / "logs").is_dir():
            shutil.copytree(root / "logs", tmp_path_factory.mktemp("logs"), dirs_exist_ok=True)
        shutil.rmtree(root)


def _choose() -> Callable[[Path], contextlib.AbstractContextManager[Addresses]]:
    choices = {"external": _external, "containers": container_infra, "embedded": _embedded}
    forced = os.environ.get("SAMOVAR_TEST_INFRA")
    if forced:
        return choices[forced]
    if "SAMOVAR_TEST_DATABASE_URL" in os.environ:
        return _external
    return container_infra if docker_answers() else _embedded


@contextlib.contextmanager
def _external(root: Path) -> Iterator[Addresses]:
    """Use the servers the environment names.

    ``SAMOVAR_TEST_DATABASE_URL`` is a superuser's; NATS must run with users and rights rendered
    by ``samovar nats-config`` from the secrets in ``SAMOVAR_TEST_SECRETS``.
    """
    secrets = credentials.load_or_create(Path(os.environ["SAMOVAR_TEST_SECRETS"]))
    external = Addresses(
        root,
        secrets,
        postgres_admin_url=os.environ["SAMOVAR_TEST_DATABASE_URL"],
        nats_url=os.environ["SAMOVAR_TEST_NATS_URL"],
        redis_url=os.environ["SAMOVAR_TEST_REDIS_URL"],
    )
    try:
        external.bootstrap()
        external.migrate()
        yield external
    finally:
        external.stop_services()


@contextlib.contextmanager
def _embedded(root: Path) -> Iterator[Infra]:
    started = Infra.start(root, fsync=False)
    try:
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="session")
def running_session_platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """The six services on servers of their own; services of other tests do not meet them."""
    with data_directory(tmp_path_factory) as root, running_platform(root) as started:
        yield started


@pytest.fixture
def platform(running_session_platform: Platform) -> Platform:
    """The running platform, complete even if the test before killed a part of it."""
    running_session_platform.revive()
    return running_session_platform
