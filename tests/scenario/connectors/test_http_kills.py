"""HttpSource in a real worker with a broker, while its processes are killed in the middle of parents and pages."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import Counter

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON_VALUES, Connect
from tests.support.kafka.topics import values
from tests.support.processes import children, is_slot
from tests.support.servers.http_endpoint import Answer, Received, http_server
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

_CUSTOMERS, _PAGE = 60, 5


class Orders:
    """Orders of customers, which become more; both in pages of five."""

    def __init__(self, each: int) -> None:
        self._lock = threading.Lock()
        self.last = 0
        self.of: dict[int, list[int]] = {customer: [] for customer in range(1, _CUSTOMERS + 1)}
        self.add(each * _CUSTOMERS)

    def add(self, count: int) -> None:
        """This many more orders, one customer after another."""
        with self._lock:
            for number in range(self.last + 1, self.last + count + 1):
                self.of[number % _CUSTOMERS + 1].append(number)
            self.last += count

    def __call__(self, request: Received) -> Answer:
        start = int(request.query["offset"])
        with self._lock:
            if request.path == "/customers":
                return 200, {}, [{"id": customer} for customer in self.of][start : start + _PAGE]
            since = int(request.query.get("since", "0"))
            found = [number for number in self.of[int(request.path.split("/")[2])] if number > since]
        return 200, {}, [{"id": number} for number in found[start : start + _PAGE]]


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("in_flight", ["1", "4"])
def test_no_record_is_lost_when_processes_are_killed(in_flight: str, worker: StartWorker, broker: KafkaBroker) -> None:
    """Slots and workers are killed while the source goes through the customers and orders are added. Each order
    arrives, those written after the last commit of offsets twice; later polls read none of them again."""
    process, orders, name = worker({"offset.flush.interval.ms": "500"}), Orders(40), unique("http")
    connect, topic = Connect(process), broker.create_topic(name)

    def written() -> Counter[int]:
        return Counter(json.loads(value or b"")["id"] for value in values(broker.bootstrap, topic, 1_000_000, 1.0))

    def add_and_await() -> None:
        """Some of the orders that are added have been written, others not yet."""
        before = written().total()
        orders.add(600)
        wait_until(lambda: written().total() > before + 200, 120, "200 more orders", every=0.1)

    def await_polls() -> None:
        requests = len(server.received)
        wait_until(lambda: len(server.received) > requests + 3 * _CUSTOMERS, 60, "three more polls", every=0.2)

    with http_server(orders) as server:
        connect.create(name, {
            "connector.class": "HttpSource", "tasks.max": "1", "topic": topic,
            **JSON_VALUES,
            "http.url": f"{server.url}/customers/${{parent.id}}/orders", "http.parameter.since": "${cursor}",
            "http.cursor.pointer": "/id", "http.pagination": "offset", "http.poll.interval.ms": "50",
            "http.parent.url": f"{server.url}/customers", "http.parent.pagination": "offset", "http.retries": "-1",
            "http.max.in.flight": in_flight,
        })  # fmt: skip
        for victim in ("slot", "worker", "slot", "worker"):
            add_and_await()
            if victim == "slot":
                os.kill(next(pid for pid in children(process.pid) if is_slot(pid)), signal.SIGKILL)
            else:
                process.kill()
                process.start()
        expected = set(range(1, orders.last + 1))
        wait_until(lambda: set(written()) == expected, 120, "all orders", every=0.5)
        await_polls()  # in which the last of those arrive that are written twice
        found = written()
        doubled = sum(count - 1 for count in found.values())
        print(f"\n4 kills, {orders.last:,} records: 0 lost, {doubled} doubled")
        await_polls()
        assert written() == found
    connect.ask("DELETE", f"/connectors/{name}")
