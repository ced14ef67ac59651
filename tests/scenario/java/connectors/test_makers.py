"""Connectors of many makers, without their servers: list, definitions, validation and a start-up that fails, compared
with Apache's worker. docs/java-plugins.md has the table of these connectors."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.java.answers import comparable, different, listed_plugins, with_their_texts
from tests.support.java.connectors import plugin_path
from tests.support.java.makers import MAKERS, Maker
from tests.support.waiting import wait_until
from tests.support.workers import java_worker, our_worker

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

_JVM = ("-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_START = 400.0  # seconds; Apache's worker loads every class of every jar
_SETTLED = 6.0  # seconds without a change of the states

Outcome = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Our worker and Apache's, with the same plugins."""

    ours: Connect
    apaches: Connect
    broker: KafkaBroker

    def both(self, method: str, path: str, body: Any = None) -> tuple[Any, Any]:
        """Our response and Apache's; both have succeeded."""
        return self.ours.ask(method, path, body), self.apaches.ask(method, path, body)


@pytest.fixture(scope="module")
def pair(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("makers")
    settings = {"plugin.path": plugin_path(*dict.fromkeys(maker.coordinates for maker in MAKERS))}
    ours = our_worker(folder, broker.bootstrap, {**settings, "headrace.java.heap.mb": "512"})
    apaches = java_worker(folder / "java", broker.bootstrap, settings, _JVM)
    try:
        for worker in (apaches, ours):
            worker.start(wait=False)
        for worker in (apaches, ours):
            worker.wait_healthy(_START)
        yield Pair(Connect(ours), Connect(apaches), broker)
    finally:
        for worker in (apaches, ours):
            if worker.running():
                worker.stop()


def test_the_lists_of_plugins_are_equal(pair: Pair) -> None:
    ours, theirs = ([entry for entry in listed_plugins(one.worker) if _is_foreign(entry)] for one in _workers(pair))
    assert ours == theirs
    assert {maker.connector for maker in MAKERS} <= {entry["class"] for entry in ours}


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.connector.rpartition(".")[2])
def test_definitions_and_validation_are_equal(pair: Pair, maker: Maker) -> None:
    ours, theirs = pair.both("GET", f"/connector-plugins/{maker.connector}/config")
    difference = different(with_their_texts(ours, theirs), theirs)
    assert not difference, f"(ours, Apache's)\n{difference}"
    minimal = maker.filled(pair.broker.bootstrap, "t")
    for config in ({}, {"tasks.max": "x", "topics": "a", "name": "x"}, minimal):
        path = f"/connector-plugins/{maker.connector}/config/validate"
        ours, theirs = pair.both("PUT", path, {"connector.class": maker.connector, **config})
        ours, theirs = comparable(ours, theirs), comparable(theirs, theirs)
        difference = different([c["value"] for c in ours["configs"]], [c["value"] for c in theirs["configs"]])
        assert not difference, f"{config}: (ours, Apache's)\n{difference}"
        assert ours == theirs


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.connector.rpartition(".")[2])
def test_a_start_without_the_server_has_the_same_outcome(pair: Pair, maker: Maker) -> None:
    topic, name = pair.broker.create_topic(unique("makers")), unique("maker")
    config = {**maker.filled(pair.broker.bootstrap, topic), "connector.class": maker.connector, "tasks.max": "1"}
    names = (f"{name}-a", f"{name}-b")  # two groups, so that each sink has the topic's partition
    responses = [
        worker.request("POST", "/connectors", {"name": own, "config": config})
        for worker, own in zip(_workers(pair), names, strict=True)
    ]
    refusals = [_refusal(*response) for response in responses]
    if not _fails_for_a_key_without_value(refusals[1]):
        assert refusals[0] == refusals[1]
    if refusals[0]:
        print(f"{maker.connector}: refused, {refusals[0][:1]} {str(refusals[0][1])[:200]}")
        return
    seen: list[tuple[float, tuple[Outcome, Outcome]]] = []

    def settled() -> bool:
        now = _outcome(pair.ours, names[0]), _outcome(pair.apaches, names[1])
        if not seen or seen[-1][1] != now:
            seen.append((time.monotonic(), now))
        return now[0] == now[1] and now[0][0] != "NONE" and time.monotonic() - seen[-1][0] > _SETTLED

    try:
        wait_until(settled, 90, every=0.3)
        print(f"{maker.connector}: {seen[-1][1][0]}")
    except AssertionError:
        raise AssertionError(f"(ours, Apache's)\n{seen[-1][1][0]}\n{seen[-1][1][1]}") from None
    finally:
        for worker, own in zip(_workers(pair), names, strict=True):
            worker.ask("DELETE", f"/connectors/{own}")


def _workers(pair: Pair) -> tuple[Connect, Connect]:
    return pair.ours, pair.apaches


def _is_foreign(entry: dict[str, Any]) -> bool:
    return not entry["class"].startswith(("org.apache.kafka.connect.", "headrace."))


def _refusal(status: int, body: Any) -> tuple[Any, ...]:
    return () if status < 300 else (status, body["message"])


def _fails_for_a_key_without_value(refusal: tuple[Any, ...]) -> bool:
    """Apache's worker fails where a connector defines a key that it does not validate, and another one is invalid."""
    return refusal[:1] == (500,) and "ConfigInfo.configValue()" in refusal[1]


def _outcome(worker: Connect, name: str) -> Outcome:
    """The states, and the first lines of the traces, without the connector's name."""
    status, body = worker.request("GET", f"/connectors/{name}/status")
    if status != 200:
        return ("NONE",)
    parts = (body["connector"], *sorted(body["tasks"], key=lambda task: task["id"]))
    return tuple((part["state"], *_first_line(part, name)) for part in parts)


def _first_line(part: dict[str, Any], name: str) -> list[str]:
    return part["trace"].replace(name, "NAME").splitlines()[:1] if part.get("trace") else []
