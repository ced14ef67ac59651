"""The parts of a soak run: a broker, a worker, fed sources, sinks that write, and the processes to kill."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support.broker import EmbeddedBroker, unique
from tests.support.connect import Connect
from tests.support.processes import alive, children, command_line
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess, our_worker

PIPELINES = 4
LINES_A_SECOND = 2000

_CHILDREN = {
    "slot": "runtime.engine.driver.daemon",
    "driver": "runtime.engine.driver.driver",
    "JVM": "org.apache.spark.api.python.PythonGatewayServer",
    "plugin host": "runtime.host",
}
VICTIMS = (*_CHILDREN, "worker", "broker")


def numbered(number: int) -> str:
    return f"{number:09d} {'x' * 80}\n"


class Feeder:
    """Appends batches of numbered lines to the sources' files until stopped."""

    def __init__(self, files: list[Path], a_second: int, line: Callable[[int], str] = numbered) -> None:
        self._line, self._files, self._batch = line, files, max(1, a_second // len(files) // 20)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feeder")
        self.written = 0  # lines in each file

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        outs = [file.open("a") for file in self._files]
        while not self._end.wait(0.05):
            lines = "".join(map(self._line, range(self.written, self.written + self._batch)))
            for out in outs:
                out.write(lines)
                out.flush()
            self.written += self._batch
        for out in outs:
            out.close()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A source from a file to a topic, and a sink from the topic to a file."""

    source: str
    sink: str
    into: Path
    out: Path

    def delivered(self) -> list[int]:
        """The numbers of the complete lines that arrived, in order of arrival."""
        return [int(line[:9]) for line in self.out.read_bytes().split(b"\n")[:-1]]


class Rig:
    """All parts, started; stop() ends them."""

    def __init__(self, folder: Path) -> None:
        self.broker = EmbeddedBroker(folder / "broker")
        self.broker.start()
        self.worker: WorkerProcess = our_worker(folder, self.broker.bootstrap, {})
        self.worker.start()
        self.connect = Connect(self.worker)
        self.pipelines = [self._pipeline(folder, number) for number in range(PIPELINES)]
        self.feeder = Feeder([pipeline.into for pipeline in self.pipelines], LINES_A_SECOND)
        self._ours: set[int] = set()

    def _pipeline(self, folder: Path, number: int) -> Pipeline:
        topic = self.broker.create_topic(partitions=1)
        made = Pipeline(
            unique("src"), unique("snk"), folder / f"{number}.in", folder / f"{number}.out"
        )  # fmt: skip
        made.into.touch()
        self.connect.source(made.source, str(made.into), topic)
        self.connect.sink(made.sink, str(made.out), topic)
        return made

    @property
    def names(self) -> list[str]:
        return [name for pipeline in self.pipelines for name in (pipeline.source, pipeline.sink)]

    def kill(self, victim: str) -> None:
        """Sends SIGKILL to one process, and restarts it if a supervisor would (worker, broker)."""
        self.remember()
        if victim == "worker":
            self.worker.kill()
            self.worker.start(wait=False)
        elif victim == "broker":
            self.broker.kill()
            self.broker.start()
        else:
            mark = _CHILDREN[victim]
            found = [pid for pid in children(self.worker.pid) if mark in command_line(pid)]
            if found:
                os.kill(found[-1], signal.SIGKILL)

    def remember(self) -> None:
        """Remembers the current processes, to check at the end that none remains."""
        self._ours |= set(children(self.worker.pid))

    def wait_running(self, timeout: float = 120) -> None:
        """Waits until every connector and task is RUNNING, and the worker healthy."""
        wait_until(self._all_running, timeout, "all RUNNING", every=0.2)

    def _all_running(self) -> bool:
        try:
            if self.worker.request("GET", "/health")[0] != 200:
                return False
            return all(self.connect.states(name) == ("RUNNING", ["RUNNING"]) for name in self.names)
        except OSError:
            return False

    def wait_delivered(self, timeout: float = 120) -> None:
        """Waits until the last line of every pipeline has arrived."""
        last = f"\n{self.feeder.written - 1:09d} ".encode()
        wait_until(
            lambda: all(last in pipeline.out.read_bytes()[-1_000_000:] for pipeline in self.pipelines),
            timeout,
            "the last lines",
            every=0.5,
        )

    def stop(self) -> list[str]:
        """Ends all parts; returns the command lines of remaining processes."""
        self.remember()
        if self.worker.running():
            self.worker.stop()
        self.broker.stop()
        try:
            wait_until(lambda: not any(map(alive, self._ours)), 15, "the end of orphaned processes")
        except AssertionError:
            return [command_line(pid)[:200] for pid in self._ours if alive(pid)]
        return []
