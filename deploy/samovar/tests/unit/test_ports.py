"""The port table, and what is said about a port that is taken."""

import os
import socket

import pytest

from samovar import ports
from samovar.errors import StackError


@pytest.fixture
def taken_port() -> object:
    with socket.create_server((ports.LOOPBACK, 0)) as server:
        yield server.getsockname()[1]


def test_a_taken_port_is_named_with_its_holder_and_the_remedy(taken_port: int) -> None:
    with pytest.raises(StackError) as caught:
        ports.check_port("realtime.ws", taken_port)

    message = str(caught.value)
    assert f"port {taken_port} (realtime.ws) is taken by" in message
    assert f"pid {os.getpid()}" in message
    assert "SAMOVAR_PORT_REALTIME_WS" in message


def test_a_free_port_passes_the_check() -> None:
    ports.check_port("edge", ports.free_port())


def test_free_ports_are_never_given_out_twice() -> None:
    given = [ports.free_port() for _ in range(50)]

    assert len(set(given)) == 50


def test_default_ports_are_distinct_and_below_the_ephemeral_range() -> None:
    numbers = list(ports.DEFAULT_PORTS.values())

    assert len(set(numbers)) == len(numbers)
    assert max(numbers) < 32_768


def test_options_win_over_the_environment_and_that_over_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SAMOVAR_PORT_EDGE", "9001")
    monkeypatch.setenv("SAMOVAR_PORT_AUTH_HTTP", "9002")

    table = ports.fixed_ports(ports.parse_options(["edge=9003"]))

    assert table["edge"] == 9003
    assert table["auth.http"] == 9002
    assert table["nats"] == ports.DEFAULT_PORTS["nats"]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("edge=http", "'http' is not a port number"),
        ("edge=70000", "'70000' is not a port number"),
        ("edge", "'' is not a port number"),
        ("web=80", "there is no port named 'web'"),
        ("edge=18422", "port 18422 is configured twice"),
    ],
)
def test_a_wrong_option_is_explained(option: str, words: str) -> None:
    with pytest.raises(StackError, match=words):
        ports.fixed_ports(ports.parse_options([option]))
