"""Free ports on the loopback interface."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass

from runtime.embedded.errors import EmbeddedError, StartError

HOST = "127.0.0.1"
KAFKA_PORT, REST_PORT = 9092, 8083
KAFKA_OPTION, KAFKA_VARIABLE = "--kafka-port", "HEADRACE_KAFKA_PORT"
REST_OPTION, REST_VARIABLE = "--rest-port", "HEADRACE_REST_PORT"


def choose(preferred: int | None = None) -> int:
    """`preferred` if it is free, otherwise any free port."""
    if preferred is not None and _free(preferred):
        return preferred
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True, slots=True)
class WantedPorts:
    """The ports that the operator wants the cluster to have; None for the usual one, or any other if that is in use."""

    kafka: int | None = None
    rest: int | None = None

    @classmethod
    def of(cls, kafka: int | None = None, rest: int | None = None) -> WantedPorts:
        """Those of the options, and else of the environment. EmbeddedError for a variable that is not a port."""
        return cls(kafka or _from_environment(KAFKA_VARIABLE), rest or _from_environment(REST_VARIABLE))

    def options(self) -> list[str]:
        """The options of `headrace embedded` with these ports."""
        return [word for option, port in self._given() for word in (option, str(port))]

    def choose_kafka(self) -> int:
        """StartError if the port that the operator wants is in use."""
        return choose(KAFKA_PORT) if self.kafka is None else _checked(self.kafka, KAFKA_OPTION)

    def choose_rest(self) -> int:
        """StartError if the port that the operator wants is in use."""
        return choose(REST_PORT) if self.rest is None else _checked(self.rest, REST_OPTION)

    def _given(self) -> Iterator[tuple[str, int]]:
        if self.kafka is not None:
            yield KAFKA_OPTION, self.kafka
        if self.rest is not None:
            yield REST_OPTION, self.rest


def port_number(text: str) -> int:
    """A port from 1 to 65535. ValueError for other texts."""
    port = int(text)
    if not 1 <= port <= 65535:
        raise ValueError(text)
    return port


def _from_environment(variable: str) -> int | None:
    text = os.environ.get(variable, "")
    try:
        return port_number(text) if text else None
    except ValueError:
        raise EmbeddedError(f"{variable}={text} is not a port: use a number from 1 to 65535") from None


def _checked(port: int, option: str) -> int:
    if not _free(port):
        raise StartError(f"port {port} ({option}) is in use: choose another one, or end the process that listens on it")
    return port


def is_open(port: int) -> bool:
    """Whether a process accepts connections on this port."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex((HOST, port)) == 0


def _free(port: int) -> bool:
    with socket.socket() as probe:
        # As servers set it, so that closed connections in TIME_WAIT do not matter.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    # bind() can succeed although another process listens on all interfaces.
    return not is_open(port)
