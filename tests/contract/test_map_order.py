"""Configs and names have the order of Apache Connect's maps, as returned by a worker of each kind."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import pytest

from tests.support.broker import unique
from tests.support.connect import SOURCE, Connect
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

LETTERS = string.ascii_letters + ".-_ü日"
COUNT = 13  # connectors; the sizes of Java's maps differ between the two lists


def configs(seed: int) -> Iterator[dict[str, str]]:
    """Configs for both workers: up to 60 keys in random order in addition to the required keys of a source."""
    chance = random.Random(seed)
    for _ in range(COUNT):
        keys = ["".join(chance.choices(LETTERS, k=chance.randint(1, 30))) for _ in range(chance.randint(0, 60))]
        config = {**dict.fromkeys(keys, "x"), "connector.class": SOURCE, "file": "/nowhere", "topic": "t"}
        items = list(config.items())
        chance.shuffle(items)
        yield dict(items)


def emptied(worker: WorkerProcess) -> Connect:
    """The worker without the connectors that other tests have left."""
    connect = Connect(worker)

    def is_empty() -> bool:
        names = connect.ask("GET", "/connectors")
        for name in names:
            connect.request("DELETE", f"/connectors/{quote(name, safe='')}")
        return not names

    wait_until(is_empty, what="all connectors deleted", every=0.2)
    return connect


@contextmanager
def created(connect: Connect, prefix: str) -> Iterator[dict[str, list[list[str]]]]:
    """Creates connectors; returns the order of keys in each answer about each connector."""
    found: dict[str, list[list[str]]] = {}
    try:
        for i, config in enumerate(configs(COUNT)):
            name = f"{prefix}{i}"
            body = {"name": name, "config": config, "initial_state": "STOPPED"}
            found[name] = [
                list(connect.ask("POST", "/connectors", body)["config"]),
                list(connect.ask("GET", f"/connectors/{name}/config")),
                list(connect.ask("PATCH", f"/connectors/{name}/config", {"topic": "u", f"k{i}": "v"})["config"]),
                list(connect.ask("GET", f"/connectors/{name}")["config"]),
                list(connect.ask("PUT", f"/connectors/{name}/config", config)["config"]),
            ]
        yield found
    finally:
        for name in found:
            connect.ask("DELETE", f"/connectors/{name}")


@pytest.mark.slow
def test_keys_have_the_order_of_javas_maps(our_connect: WorkerProcess, java_connect: WorkerProcess) -> None:
    prefix, ours, javas = unique("order"), emptied(our_connect), emptied(java_connect)
    with created(ours, prefix) as here, created(javas, prefix) as there:
        assert here == there
        lists = ours.ask("GET", "/connectors"), javas.ask("GET", "/connectors")
        assert set(lists[0]) == set(lists[1]) == there.keys(), "the order depends on the size of the map"
        assert lists[0] == lists[1]
        expanded = "/connectors?expand=info"
        assert list(ours.ask("GET", expanded)) == list(javas.ask("GET", expanded))
