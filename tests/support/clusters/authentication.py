"""A group of workers whose Kafka clients log in to a broker that requires it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from tests.support.broker import KafkaBroker
from tests.support.clusters.group_work import group_does_its_work
from tests.support.kafka.secured_broker import of_properties_file

_KINDS = ("", "admin.", "consumer.", "producer.")


def for_all_clients(login: Mapping[str, str]) -> dict[str, str]:
    """Worker properties with this login for the worker's own clients and for those of connectors."""
    return for_clients(dict.fromkeys(_KINDS, login))


def for_clients(logins: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Worker properties with logins by the prefix of the clients' properties, which is empty for the worker's own."""
    return {f"{kind}{key}": v for kind, login in logins.items() for key, v in of_properties_file(login).items()}


def group_authenticates(broker: KafkaBroker, folder: Path, properties: Mapping[str, str], session: float) -> None:
    """A group does its work for longer than the sessions of its connections, in seconds."""
    group_does_its_work(broker, folder, properties, lambda: until_reauthenticated(session))


def until_reauthenticated(session: float) -> None:
    """Waits until the broker would close each connection whose client has not authenticated again within a session."""
    time.sleep(session * 1.5)
