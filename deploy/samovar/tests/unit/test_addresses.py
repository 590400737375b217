"""What a service is told through its environment."""

from pathlib import Path

import pytest

from samovar.addresses import Addresses
from samovar.credentials import load_or_create
from samovar.ports import DEFAULT_PORTS


@pytest.fixture
def addresses(tmp_path: Path) -> Addresses:
    return Addresses(
        tmp_path,
        load_or_create(tmp_path / "secrets"),
        postgres_admin_url="postgresql://admin:pw@127.0.0.1:5432/postgres",
        nats_url="nats://127.0.0.1:4222",
        redis_url="redis://:pw@127.0.0.1:6379/0",
        fixed=DEFAULT_PORTS,
    )


def test_a_service_gets_its_own_role_user_and_ports(addresses: Addresses) -> None:
    env = addresses.service_env("game_engine")

    password = addresses.credentials["postgres.engine_runtime"]
    assert env["SAMOVAR_DATABASE_URL"] == (
        f"postgresql://engine_runtime:{password}@127.0.0.1:5432/samovar"
    )
    assert env["SAMOVAR_NATS_USER"] == "game_engine"
    assert env["SAMOVAR_NATS_PASSWORD"] == addresses.credentials["nats.game_engine"]
    assert env["SAMOVAR_HEALTH_PORT"] == str(DEFAULT_PORTS["game_engine.health"])
    assert "SAMOVAR_SIGNING_KEYS_FILE" not in env


def test_the_bot_service_knows_no_database(addresses: Addresses) -> None:
    assert "SAMOVAR_DATABASE_URL" not in addresses.service_env("bot")


def test_a_second_replica_has_ports_of_its_own(addresses: Addresses) -> None:
    first, second = (addresses.service_env("realtime", number) for number in (1, 2))

    assert second["SAMOVAR_INSTANCE"] == "2"
    for setting in ("HEALTH_PORT", "HTTP_PORT", "WS_PORT"):
        assert first[f"SAMOVAR_{setting}"] != second[f"SAMOVAR_{setting}"]


def test_overrides_win_and_settings_of_our_own_process_do_not_leak(
    addresses: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAMOVAR_FAILPOINT", "somewhere")
    monkeypatch.setenv("SAMOVAR_LOG_LEVEL", "DEBUG")

    env = addresses.service_env("lobby", SWEEP_INTERVAL_S=0.5)

    assert env["SAMOVAR_SWEEP_INTERVAL_S"] == "0.5"
    assert env["SAMOVAR_LOG_LEVEL"] == "DEBUG"
    assert "SAMOVAR_FAILPOINT" not in env
