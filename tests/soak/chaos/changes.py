"""Changes of connectors at random, as by operators who repeat a request until it succeeds."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tests.soak.chaos.client import PATIENCE, PatientConnect
from tests.soak.chaos.connectors import Sink, Source, Target
from tests.support.waiting import wait_until


class Operator:
    """Changes its connectors one after another on its own thread, except while it is paused."""

    def __init__(self, connect: PatientConnect, targets: Sequence[Target], chance: random.Random) -> None:
        self.connect, self._targets, self._chance = connect, targets, chance
        self.done: Counter[str] = Counter()
        self.faults: list[str] = []
        self._end, self._calm = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True, name="operator")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def pause(self) -> None:
        """Returns when the present change is finished."""
        self._calm.acquire()

    def resume(self) -> None:
        self._calm.release()

    def _run(self) -> None:
        while not self._end.wait(self._chance.uniform(0.2, 2.0)):
            with self._calm:
                target = self._chance.choice(self._targets)
                with target.lock:
                    self._change(target)

    def _change(self, target: Target) -> None:
        change = self._chance.choice(_changes(target))
        try:
            change(self, target)
        except AssertionError as failed:
            self.faults.append(f"{change.__name__.strip('_')} of {target.name}: {failed}")
        self.done[change.__name__.strip("_").replace("_", " ")] += 1

    # Steps

    def configure(self, target: Target, **changed: str) -> None:
        target.config |= {key.replace("_", "."): value for key, value in changed.items()}
        self.connect.until("PUT", f"/connectors/{target.name}/config", target.config)

    def put(self, target: Target, verb: str, state: str) -> None:
        target.state = state
        self.connect.until("PUT", f"/connectors/{target.name}/{verb}")

    def stopped(self, target: Target) -> None:
        self.put(target, "stop", "STOPPED")
        self.wait(target, "STOPPED", [])

    def wait(self, target: Target, state: str, tasks: list[str]) -> None:
        def reached() -> bool:
            return self.connect.states(target.name) == (state, tasks)

        wait_until(reached, PATIENCE, f"{target.name} {state} {tasks}", every=0.3)

    def some(self, numbers: Sequence[int]) -> list[int]:
        return self._chance.sample(numbers, self._chance.randint(1, len(numbers)))

    def number(self, least: int, most: int) -> int:
        return self._chance.randint(least, most)

    def linger(self) -> None:
        time.sleep(self._chance.uniform(0.0, 3.0))


def create(connect: PatientConnect, target: Target) -> None:
    """Creates the connector; 409 after a lost answer."""
    connect.until("POST", "/connectors", {"name": target.name, "config": target.config}, also=(409,))


def turn(operator: Operator, source: Source) -> None:
    """Moves all partitions to other tasks."""
    operator.configure(source, turn=str(int(source.config["turn"]) + 1))


def resize(operator: Operator, target: Target) -> None:
    operator.configure(target, tasks_max=str(operator.number(1, 3)))


def pause(operator: Operator, target: Target) -> None:
    operator.put(target, "pause", "PAUSED")
    operator.linger()
    operator.put(target, "resume", "RUNNING")


def stop(operator: Operator, target: Target) -> None:
    operator.put(target, "stop", "STOPPED")
    operator.linger()
    operator.put(target, "resume", "RUNNING")


def restart(operator: Operator, target: Target) -> None:
    operator.connect.until("POST", f"/connectors/{target.name}/restart?includeTasks=true")


def alter(operator: Operator, source: Source) -> None:
    """Sets partitions to other positions, some of them twice."""
    operator.stopped(source)
    for _ in range(operator.number(1, 2)):
        numbers = {at: operator.number(0, 5_000) for at in operator.some(range(source.partitions))}
        epoch = source.new_epoch(numbers)
        entries = [
            {"partition": {"partition": at}, "offset": {"epoch": epoch, "number": number}}
            for at, number in numbers.items()
        ]
        operator.connect.until("PATCH", f"/connectors/{source.name}/offsets", {"offsets": entries})
    operator.put(source, "resume", "RUNNING")


def reset(operator: Operator, source: Source) -> None:
    operator.stopped(source)
    operator.connect.until("DELETE", f"/connectors/{source.name}/offsets")
    source.reset()
    operator.configure(source)
    operator.put(source, "resume", "RUNNING")


def recreate(operator: Operator, source: Source, offsets: bool = False, fail: bool = False) -> None:
    """Deletes the connector, and creates another one of its name that writes to another topic."""
    path = f"/connectors/{source.name}" + ("?offsets=true" if offsets else "")
    operator.connect.until("DELETE", path, also=(404,))
    source.successor()
    if offsets:
        source.reset()
    if fail:
        create(operator.connect, _failing(source))
        operator.wait(source, "FAILED", [])
        operator.linger()
        if shown := operator.connect.until("GET", f"/connectors/{source.name}/tasks"):
            operator.faults.append(f"revived: {source.name} has not started, but has the tasks {shown}")
        operator.configure(source)
    else:
        create(operator.connect, source)
    source.state = "RUNNING"


def _failing(source: Source) -> Target:
    return Target(source.name, {**source.config, "fail": "true"})


def recreate_without_offsets(operator: Operator, source: Source) -> None:
    recreate(operator, source, offsets=True)


def recreate_failing(operator: Operator, source: Source) -> None:
    recreate(operator, source, fail=True)


def reread(operator: Operator, sink: Sink) -> None:
    """Sets partitions of a sink back, or resets all."""
    operator.stopped(sink)
    known = {
        (entry["partition"]["kafka_topic"], entry["partition"]["kafka_partition"]): entry["offset"]["kafka_offset"]
        for entry in operator.connect.until("GET", f"/connectors/{sink.name}/offsets")["offsets"]
    }
    path, body = f"/connectors/{sink.name}/offsets", None
    chosen = dict.fromkeys(known, 0)
    if operator.number(0, 2):
        chosen = {at: operator.number(max(0, end - 2_000), end) for at, end in known.items()}
        body = {"offsets": [_entry(*at, offset) for at, offset in chosen.items()]}
    if not known:
        return operator.put(sink, "resume", "RUNNING")
    operator.connect.until("PATCH" if body else "DELETE", path, body)
    size = sink.file.stat().st_size if sink.file.exists() else 0
    sink.rereads |= {at: (size, offset) for at, offset in chosen.items()}
    return operator.put(sink, "resume", "RUNNING")


def _entry(topic: str, partition: int, offset: int) -> dict[str, Any]:
    return {
        "partition": {"kafka_topic": topic, "kafka_partition": partition},
        "offset": {"kafka_offset": offset},
    }


_ALWAYS: list[Callable[..., None]] = [pause, stop, restart]
_OF_SOURCES = [*_ALWAYS, turn, turn, turn, resize, alter, reset, recreate, recreate_without_offsets, recreate_failing]
_OF_SINKS = [*_ALWAYS, resize, reread]


def _changes(target: Target) -> list[Callable[..., None]]:
    """The changes that the checker allows for."""
    if isinstance(target, Source):
        return _ALWAYS if target.file else _OF_SOURCES
    assert isinstance(target, Sink)
    return _ALWAYS if target.source else _OF_SINKS
