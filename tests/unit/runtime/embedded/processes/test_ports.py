"""Choosing ports."""

from __future__ import annotations

import socket

import pytest

from runtime.embedded.errors import EmbeddedError, StartError
from runtime.embedded.processes import ports
from runtime.embedded.processes.ports import WantedPorts


def test_a_port_in_use_is_not_chosen() -> None:
    for host in ("127.0.0.1", "0.0.0.0"):
        with socket.socket() as taken:
            taken.bind((host, 0))
            taken.listen()
            port = taken.getsockname()[1]
            assert ports.choose(port) != port


def test_the_preferred_port_is_chosen_if_free() -> None:
    port = ports.choose()
    assert ports.choose(port) == port
    assert not ports.is_open(port)


def test_options_come_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ports.KAFKA_VARIABLE, "19092")
    monkeypatch.setenv(ports.REST_VARIABLE, "18083")
    assert WantedPorts.of(rest=28083) == WantedPorts(19092, 28083)
    assert WantedPorts.of(rest=28083).options() == ["--kafka-port", "19092", "--rest-port", "28083"]


@pytest.mark.parametrize("text", ["kafka", "0", "65536", "-1"])
def test_a_variable_that_is_not_a_port_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ports.REST_VARIABLE, text)
    with pytest.raises(EmbeddedError, match=f"HEADRACE_REST_PORT={text} is not a port"):
        WantedPorts.of()


def test_a_wanted_port_in_use_is_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(StartError, match=rf"port {port} \(--kafka-port\) is in use"):
            WantedPorts(kafka=port).choose_kafka()
    assert WantedPorts(kafka=port).choose_kafka() == port
