"""Runs calls to Kafka against a broker with faults, in processes of their own, which may crash."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.broker import KafkaBroker, unique
from tests.support.kafka.faulty_broker import (
    API_VERSIONS,
    OFFSET_FETCH,
    Damage,
    Fault,
    FaultyBroker,
    code_levels,
    error_codes,
)
from tests.support.kafka.kafka_calls import CALLS

LONG, SHORT = 20.0, 1.0
"""Seconds for each request of calls that succeed, and of calls that fail."""

_LATER = {"sink_task": {OFFSET_FETCH}}
"""Requests that a call makes only if the machine is fast enough: here, if the group gets its partitions in time."""

_TIMEOUT = 90.0  # seconds for a case; the longest of the calls takes 40


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a case. `error`: the types of the exception, from its own to `object`, and its message."""

    call: str
    fault: Fault | None
    seconds: float
    error: str

    def __str__(self) -> str:
        return f"{self.call}, {self.fault}: {self.error} ({self.seconds:g} s)"


@dataclass(frozen=True, slots=True)
class Crash:
    """A process that died. `unfinished`: the cases that were running."""

    code: int
    unfinished: tuple[str, ...]
    output: str


@dataclass(frozen=True, slots=True)
class Run:
    """The end of a process. `left`: clients, threads and descriptors that were not closed; `output`: what it printed
    about them."""

    outcomes: list[Outcome]
    crash: Crash | None
    left: tuple[int, ...]
    output: str


class FaultCases:
    """Cases on one topic and one group of a real broker."""

    def __init__(self, broker: KafkaBroker) -> None:
        self.faulty = FaultyBroker(broker.bootstrap)
        self._topic, self._group = broker.create_topic(), unique("group")
        broker.create_topic(f"{self._topic}-offsets")
        _fill(broker.bootstrap, self._topic, self._group)

    def requests(self, calls: Iterable[str]) -> dict[str, set[int]]:
        """The API keys of the requests that each call makes of a broker without faults."""
        names = list(calls)
        ports = {name: self.faulty.listen() for name in names}
        run = self._run([(name, None, ports[name]) for name in names], LONG)
        assert run.crash is None and all(found.error == "ok" for found in run.outcomes), run
        return {name: self.faulty.seen(ports[name]) | _LATER.get(name, set()) for name in names}

    def run(self, cases: Sequence[tuple[str, Fault]], timeout: float = SHORT) -> Run:
        """The outcomes of these calls with these faults, in one process. `timeout`: seconds for each request."""
        ports = [self.faulty.listen(fault) for _, fault in cases]
        try:
            return self._run([(name, fault, port) for (name, fault), port in zip(cases, ports, strict=True)], timeout)
        finally:
            for port in ports:
                self.faulty.unlisten(port)

    def close(self) -> None:
        self.faulty.close()

    def _run(self, cases: Sequence[tuple[str, Fault | None, int]], timeout: float) -> Run:
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.support.kafka.kafka_calls", self._topic, self._group, str(timeout)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        limit = threading.Timer(_TIMEOUT + len(cases), child.kill)
        limit.start()
        lines = [f"{number} {name} {port}\n" for number, (name, _, port) in enumerate(cases)]
        output, errors = child.communicate("".join(lines))
        limit.cancel()
        started: dict[str, str] = {}
        outcomes: list[Outcome] = []
        left: tuple[int, ...] = ()
        for line in output.splitlines():
            kind, number, *rest = line.split(" ", 3)
            if kind == "left":
                left = (int(number), *map(int, rest))
                continue
            name, fault, _ = cases[int(number)]
            if kind == "start":
                started[number] = f"{name}, {fault}"
            else:
                del started[number]
                outcomes.append(Outcome(name, fault, float(rest[0]), rest[1]))
        crash = Crash(child.returncode, tuple(started.values()), errors[-4000:]) if child.returncode else None
        return Run(outcomes, crash, left, errors[-4000:])


def faults(requests: Iterable[int], codes: Iterable[int] | None = None, times: int = 0) -> list[Fault]:
    """All damages of these requests; error codes in each position that the response has, all codes unless given."""
    chosen = list(error_codes()) if codes is None else list(codes)
    coded = (Damage.CODE, Damage.INNER_CODE)
    others = [damage for damage in Damage if damage not in coded]
    found = []
    for api in sorted(requests):
        positions = coded[: code_levels(api)]
        found += [Fault(api, damage, code, times) for damage in positions for code in chosen]
        found += [
            Fault(api, damage, 0, times) for damage in others if api != API_VERSIONS or damage is not Damage.UNSUPPORTED
        ]
    return found


def _fill(bootstrap: str, topic: str, group: str) -> None:
    from confluent_kafka import Consumer, Producer, TopicPartition

    producer: Any = Producer({"bootstrap.servers": bootstrap})
    for _ in range(3):
        producer.produce(topic, b"value", b"key")
    assert not producer.flush(20)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    consumer.close()


ALL_CALLS = tuple(CALLS)
