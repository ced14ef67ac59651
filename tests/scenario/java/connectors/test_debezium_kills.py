"""Debezium's PostgreSQL source while the processes that run it are killed."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter

import pytest

from tests.scenario.java.connectors.inventory import PLAIN, Inventory, new_inventory
from tests.support.broker import KafkaBroker
from tests.support.connect import Connect
from tests.support.java.connectors import DEBEZIUM_POSTGRES, plugin_path
from tests.support.java.slots import is_jvm
from tests.support.kafka.committed import committed
from tests.support.processes import children
from tests.support.servers.postgres import Postgres
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker, WorkerProcess

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

_VICTIMS = ("jvm", "worker") * 3
_CHANGES = 3_000  # after each kill
_ALL = _CHANGES * (len(_VICTIMS) + 1)


@pytest.mark.parametrize("exactly_once", [False, True], ids=["at least once", "exactly once"])
def test_no_change_is_lost(exactly_once: bool, worker: StartWorker, broker: KafkaBroker, postgres: Postgres) -> None:
    """Each change arrives; with exactly-once support, once for consumers with read_committed."""
    support = {"exactly.once.source.support": "enabled"} if exactly_once else {}
    process = worker({"plugin.path": plugin_path(DEBEZIUM_POSTGRES), **support})
    with new_inventory(Connect(process), broker, postgres, 0) as inventory:
        inventory.source(**PLAIN, **({"exactly.once.support": "required"} if exactly_once else {}))
        for number, victim in enumerate((*_VICTIMS, None)):
            inventory.connect.wait(inventory.name, "RUNNING", ["RUNNING"], 120)
            wait_until(lambda: _is_active(inventory), 60, "the replication slot is active", every=0.2)
            seen = len(_arrived(inventory))
            _insert(inventory, number * _CHANGES + 1)
            if victim:
                wait_until(lambda seen=seen: len(_arrived(inventory)) > seen, 60, every=0.05)  # type: ignore[misc] # bound per turn
                _kill(victim, process)
        wait_until(lambda: len(set(_arrived(inventory))) == _ALL, 120, "all changes", every=1.0)
        found = Counter(_arrived(inventory))
        print(f"\n{len(_VICTIMS)} kills: {found.total() - _ALL:,} of {_ALL:,} changes were written again")
        assert not exactly_once or set(found.values()) == {1}


def _insert(inventory: Inventory, first: int) -> None:
    """In transactions of 100 rows."""
    for start in range(first, first + _CHANGES, 100):
        inventory.execute(
            "INSERT INTO items SELECT n, 'item', 1 FROM generate_series(%s::int, %s::int) AS n", start, start + 99
        )


def _arrived(inventory: Inventory) -> list[int]:
    """The rows of all events."""
    return [json.loads(message.key())["id"] for message in committed(inventory.broker, inventory.topic)]


def _is_active(inventory: Inventory) -> bool:
    query = "SELECT 1 FROM pg_replication_slots WHERE slot_name = %s AND active"
    return bool(inventory.execute(query, inventory.name.replace("-", "_")))


def _kill(victim: str, worker: WorkerProcess) -> None:
    if victim == "worker":
        worker.kill()
        worker.start()
        return
    for pid in filter(is_jvm, children(worker.pid)):  # of the slot and of the plugin host
        os.kill(pid, signal.SIGKILL)
