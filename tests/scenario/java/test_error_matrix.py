"""Errors of Java plugins have the same results as on Apache's worker: states, traces, records and dead letters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.java.failures import failures
from tests.support.kafka.committed import committed
from tests.support.waiting import wait_until
from tests.support.workers import java_worker, our_worker

pytestmark = pytest.mark.timeout(400)

_EXCEPTIONS = ("RetriableException", "DataException", "ConnectException", "RuntimeException", "Error", "twice")
_CHAIN = ("header", "key", "value", "predicate", "step")
_SINK_ORDERS = [f"{where}:{error}" for where in (*_CHAIN, "put") for error in _EXCEPTIONS]
_SOURCE_ORDERS = [f"{where}:{error}" for where in (*_CHAIN, "poll") for error in _EXCEPTIONS]
_SINK_CORE = ["value:DataException", "step:Error", "put:RuntimeException", "put:twice"]
_SOURCE_CORE = ["value:DataException", "step:twice", "poll:RetriableException"]
_REPORTS = ["report:own", "report:derived"]
_POLICIES = {
    f"{tolerance}-{timeout}": {
        "errors.tolerance": tolerance,
        "errors.retry.timeout": timeout,
        "errors.retry.delay.max.ms": "100",
    }
    for tolerance in ("none", "all")
    for timeout in ("0", "600")
}
_PLUGINS = {
    **{f"{kind}.converter": "failures.FailingConverter" for kind in ("key", "value", "header")},
    "transforms": "step",
    "transforms.step.type": "failures.FailingStep",
    "transforms.step.predicate": "holds",
    "predicates": "holds",
    "predicates.holds.type": "failures.FailingPredicate",
}
_RETRIED = ("RetriableException", "twice")
_ENDLESS = {"put:RetriableException", "poll:RetriableException"}
"""What is repeated whatever the policy says."""


@dataclass(frozen=True, slots=True)
class Side:
    """A worker, the prefix of its connectors, and the folder of its sinks' files."""

    connect: Connect
    name: str
    folder: Path

    def create_all(self, configs: dict[str, dict[str, str]]) -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda name: self.connect.create(f"{self.name}-{name}", configs[name]), configs))

    def statuses(self) -> dict[str, Any]:
        """The answer of each connector's status, by the name without this side's prefix."""
        found = self.connect.ask("GET", "/connectors?expand=status")
        return {name.removeprefix(f"{self.name}-"): e["status"] for name, e in found.items() if "status" in e}

    def lines(self, name: str) -> list[str]:
        """What a sink has written."""
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []

    def delete_all(self) -> None:
        for name in self.connect.ask("GET", "/connectors"):
            self.connect.ask("DELETE", f"/connectors/{name}")
        wait_until(lambda: not self.connect.ask("GET", "/connectors"), 30)


@pytest.fixture(scope="module")
def sides(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    """Apache's worker and ours, with the same plugins."""
    started: list[Side] = []
    for make, name in ((java_worker, "apache"), (our_worker, "ours")):
        folder = tmp_path_factory.mktemp(name)
        more = {"plugin.path": failures(), "offset.flush.interval.ms": "500", "offset.flush.timeout.ms": "1000"}
        worker = make(folder, broker.bootstrap, more)
        worker.start(wait=False)
        started.append(Side(Connect(worker), name, folder))
    for side in started:
        side.connect.worker.wait_healthy(180)
    yield started[0], started[1]
    for side in started:
        side.connect.worker.stop()


@pytest.fixture
def both(sides: tuple[Side, Side]) -> Iterator[tuple[Side, Side]]:
    """The workers without connectors."""
    yield sides
    for side in sides:
        side.delete_all()


def _first_lines(trace: str) -> list[str]:
    """The lines of a trace that name exceptions."""
    return [line for line in trace.splitlines() if line and not line.startswith("\t")]


def _outcome(task: dict[str, Any]) -> tuple[str, list[str]]:
    """State and exceptions, without the one in which Apache's worker wraps what put() raises."""
    lines = _first_lines(task.get("trace", ""))
    if lines and lines[0].endswith("Exiting WorkerSinkTask due to unrecoverable exception."):
        lines = [lines[1].removeprefix("Caused by: "), *lines[2:]]
    return task["state"], lines


def _letters(broker: KafkaBroker, topic: str, side: Side) -> dict[str, list[Any]]:
    """The dead letters by connector, without what names the side; of stack traces the lines with exceptions."""
    found: dict[str, list[Any]] = {}
    for message in committed(broker, topic):
        headers = [(key, None if value is None else value.decode()) for key, value in message.headers() or ()]
        named = dict(headers)
        name = (named.get("__connect.errors.connector.name") or "").removeprefix(f"{side.name}-")
        shown = [(key, _shown(key, value, side)) for key, value in headers]
        found.setdefault(name, []).append((message.key(), message.value(), message.timestamp(), shown))
    return found


def _shown(key: str, value: str | None, side: Side) -> Any:
    if value is None or not key.startswith("__connect.errors."):
        return value
    if key.endswith("stacktrace"):
        return _first_lines(value)
    return value.removeprefix(f"{side.name}-") if key.endswith("connector.name") else value


def _same(apache: dict[str, Any], ours: dict[str, Any]) -> None:
    """Fails with each entry that differs."""
    different = [
        f"{name}:\n  apache {apache.get(name)}\n  ours   {ours.get(name)}"
        for name in sorted(apache.keys() | ours.keys())
        if apache.get(name) != ours.get(name)
    ]
    assert not different, f"{len(different)} of {len(apache)} differ\n" + "\n".join(different)


def _wait(side: Side, opened: Callable[[], list[str]]) -> None:
    """Until nothing is open any more; AssertionError with what is left."""
    left: list[str] = []

    def done() -> bool:
        left[:] = opened()
        return not left

    try:
        wait_until(done, 90, every=0.5)
    except AssertionError:
        statuses = side.statuses()
        raise AssertionError(f"{side.name}: {len(left)} left: {left}; {str(statuses)[:2000]}") from None


def _topics(broker: KafkaBroker, orders: list[str]) -> dict[str, str]:
    """A topic for each order, with a record before that with the order, and one behind it."""
    topics = {order: unique("failing") for order in orders}
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.create_topics([NewTopic(topic, 1, 1) for topic in topics.values()]).values():
        future.result(30)
    now = int(time.time() * 1000)
    with broker.writing() as write:
        for order, topic in topics.items():
            for text in ("first", *order.split(), "last"):
                data = text.encode()
                write(topic, data, data, headers=[("h", data), ("n", None)], timestamp=now)
    return topics


@pytest.mark.parametrize(
    "chosen",
    [pytest.param(_SINK_CORE, id="core"), pytest.param(_SINK_ORDERS, id="all", marks=pytest.mark.soak)],
)
def test_sink_errors(both: tuple[Side, Side], broker: KafkaBroker, chosen: list[str]) -> None:
    """Each order under each policy that matters to it; all orders that may be skipped in one topic; reports."""
    skipped = " ".join(o for o in chosen if not o.startswith("put") and not o.endswith("Error"))
    topics = _topics(broker, [*chosen, *_REPORTS, skipped])
    orders: dict[str, str] = {}
    letters = {}
    for side in both:
        letters[side.name] = broker.create_topic(unique(f"letters-{side.name}"))
        configs = {}
        for policy, errors in _POLICIES.items():
            for order, topic in topics.items():
                if not _matters(order, policy, skipped):
                    continue
                name = f"{'skipped' if order == skipped else order.replace(':', '-')}-{policy}"
                orders[name] = order
                configs[name] = {**_sink(side, name, topic, letters[side.name]), **errors}
        side.create_all(configs)
    for side in both:
        _wait(side, partial(_sinks_open, side, orders))
    _same(*(_sink_results(broker, side, orders, letters[side.name]) for side in both))


@pytest.mark.soak
def test_reports_of_records_that_the_task_created(both: tuple[Side, Side], broker: KafkaBroker) -> None:
    """Apache's worker writes the created record, which needs a timestamp; ours the message at its position."""
    topics = _topics(broker, ["report:created", "report:bare"])
    found = []
    for side in both:
        letters = broker.create_topic(unique(f"letters-{side.name}"))
        errors = _POLICIES["all-0"]
        configs = {n[7:]: {**_sink(side, n[7:], topic, letters), **errors} for n, topic in topics.items()}
        side.create_all(configs)
        orders = {name: f"report:{name}" for name in configs}
        _wait(side, partial(_sinks_open, side, orders))
        states = {name: status["tasks"][0]["state"] for name, status in side.statuses().items()}
        written = {name: [letter[:2] for letter in given] for name, given in _letters(broker, letters, side).items()}
        found.append((states, written))
    assert found == [
        ({"created": "RUNNING", "bare": "FAILED"}, {"created": [(b"made key", b"made")]}),
        ({"created": "FAILED", "bare": "RUNNING"}, {"bare": [(b"report:bare", b"report:bare")]}),
    ]


def _sink(side: Side, name: str, topic: str, letters: str) -> dict[str, str]:
    return {
        "connector.class": "failures.FailingSink",
        "topics": topic,
        "file": str(side.folder / name),
        "consumer.override.auto.offset.reset": "earliest",
        "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
        **_PLUGINS,
    }


def _sink_results(broker: KafkaBroker, side: Side, orders: dict[str, str], letters: str) -> dict[str, Any]:
    """State and trace, passed records, and dead letters of each connector."""
    results: dict[str, Any] = {}
    for name, status in side.statuses().items():
        results[f"{name} task"] = [_outcome(task) for task in status["tasks"]]
        results[f"{name} passed"] = _lines(side, name, orders[name])
    return results | {f"{name} letters": found for name, found in _letters(broker, letters, side).items()}


def _matters(order: str, policy: str, skipped: str) -> bool:
    """Without tolerance every order has its own connector. A retry timeout matters to retriable errors only."""
    if policy.startswith("all") and order in skipped.split():
        return False
    return policy.endswith("-0") or order.endswith(_RETRIED) or order == skipped


def _sinks_open(side: Side, orders: dict[str, str]) -> list[str]:
    """The sinks that have neither failed nor written their last record nor, if they never end, tried twice."""
    statuses = side.statuses()
    return [n for n, order in orders.items() if not _ended(side, n, order, statuses.get(n))]


def _ended(side: Side, name: str, order: str, status: Any) -> bool:
    if not status or not status["tasks"]:
        return False
    if status["tasks"][0]["state"] == "FAILED":
        return True
    lines = side.lines(name)
    return len([n for n in lines if n.startswith("attempt")]) > 1 if order in _ENDLESS else "last|last" in lines


def _lines(side: Side, name: str, order: str) -> list[str]:
    lines = side.lines(name)
    return lines[:4] if order in _ENDLESS else lines


@pytest.mark.parametrize(
    "orders",
    [
        pytest.param(_SOURCE_CORE, id="core"),
        pytest.param([*_SOURCE_ORDERS, *(f"all::{e}" for e in _EXCEPTIONS)], id="all", marks=pytest.mark.soak),
    ],
)
def test_source_errors(both: tuple[Side, Side], broker: KafkaBroker, orders: list[str]) -> None:
    """One connector for each policy, one task for each order; header, key and value of a record may fail at once."""
    topics: dict[tuple[str, str], str] = {}
    for side in both:
        configs = {}
        for policy, errors in _POLICIES.items():
            chosen = _chosen(orders, policy)
            topics[side.name, policy] = broker.create_topic(unique(f"sourced-{policy}"))
            configs[policy] = {
                "connector.class": "failures.FailingSource",
                "tasks.max": str(len(chosen)),
                "orders": " ".join(chosen),
                "topic": topics[side.name, policy],
                **_PLUGINS,
                **errors,
            }
        side.create_all(configs)
    for side in both:
        _wait(side, partial(_tasks_open, side, broker, topics, orders))
    _same(*(_source_results(broker, side, topics, orders) for side in both))


def _source_results(
    broker: KafkaBroker, side: Side, topics: dict[tuple[str, str], str], orders: list[str]
) -> dict[str, Any]:
    """State and trace of each task, and the records that it has written."""
    results: dict[str, Any] = {}
    for policy, status in side.statuses().items():
        chosen = _chosen(orders, policy)
        results |= {f"{policy} {chosen[task['id']]} task": _outcome(task) for task in status["tasks"]}
        written = _sourced(broker, topics[side.name, policy])
        results |= {f"{policy} {order} records": records for order, records in written.items()}
    return results


def _chosen(orders: list[str], policy: str) -> list[str]:
    """The orders for this policy: a retry timeout matters to retriable errors only."""
    return [order for order in orders if policy.endswith("-0") or order.endswith(_RETRIED)]


def _tasks_open(side: Side, broker: KafkaBroker, topics: dict[tuple[str, str], str], orders: list[str]) -> list[str]:
    """The tasks that have neither failed nor written their last record nor, if they never end, their first one."""
    statuses, found = side.statuses(), []
    for policy in _POLICIES:
        tasks = {task["id"]: task["state"] for task in statuses.get(policy, {"tasks": ()})["tasks"]}
        sourced = _sourced(broker, topics[side.name, policy])
        for number, order in enumerate(_chosen(orders, policy)):
            texts = [text for text, *_ in sourced.get(order, ())]
            if tasks.get(number) != "FAILED" and ("before" if order in _ENDLESS else "last") not in texts:
                found.append(f"{policy} {order}")
    return found


@pytest.mark.soak
def test_commit_is_called_behind_records_that_kafka_does_not_have(both: tuple[Side, Side], broker: KafkaBroker) -> None:
    """commit() reports that offsets were committed, and the end of a task, not that all records were acknowledged:
    it is called once more before stop(), whatever has become of them. Only Apache's worker also calls it at intervals
    while records wait for their acknowledgement and there are no offsets to commit."""
    config = {"connector.class": "failures.CommittingSource", "topic": broker.create_topic(), "tasks.max": "1"}
    waiting = {"producer.override.linger.ms": "600000"}
    orders: dict[str, dict[str, str]] = {"refused": {}, "raised": {}, "pending": waiting}
    apache, ours = both

    def calls(side: Side, order: str) -> list[str]:
        """Those since the second poll."""
        lines = side.lines(order)
        return lines[lines.index("poll") + 1 :] if "poll" in lines else ["no poll"]

    def without_end(side: Side, order: str) -> list[str]:
        found = calls(side, order)
        return [] if found[-2:] == ["commit", "stop"] else [order, *found]

    for side in both:
        files = {order: {"orders": order, "file": str(side.folder / order)} for order in orders}
        side.create_all({order: {**config, **files[order], **more} for order, more in orders.items()})
    for side in both:
        for order in ("refused", "raised"):
            side.connect.wait(f"{side.name}-{order}", "RUNNING", ["FAILED"], 90)
    wait_until(lambda: calls(ours, "pending") == [], 90)
    wait_until(lambda: calls(apache, "pending")[:3] == ["commit"] * 3, 90, "commit() at intervals")
    time.sleep(1.5)  # three intervals
    assert calls(ours, "pending") == []
    for side in both:
        side.delete_all()
        for order in orders:
            _wait(side, partial(without_end, side, order))
    assert calls(ours, "refused") == calls(ours, "raised") == ["commit", "stop"]


def _sourced(broker: KafkaBroker, topic: str) -> dict[str, list[Any]]:
    """Key, value and headers of the records of each task."""
    found: dict[str, list[Any]] = {}
    for message in committed(broker, topic):
        headers = dict(message.headers() or ())
        task = (headers.get("task") or b"").decode().removeprefix("of ")
        found.setdefault(task, []).append((message.key().decode(), message.value(), sorted(headers.items())))
    return found
