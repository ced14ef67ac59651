"""The two compared workers, on one broker."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from runtime.engine.driver.archive import archive_path
from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.processes import children, command_line
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess, java_worker, our_worker

JAVA, OURS = "java", "ours"

# the JVM options of Apache's connect-distributed.sh, except the size of the log
_JAVA_JVM = ("-Xms256M", "-Xmx2G", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35")
_BOTH = {"offset.flush.interval.ms": "10000"}
_JAVA = _BOTH | {
    "plugin.discovery": "service_load"
}  # the default scans every class for plugins, which takes 8 s longer


class Refused(Exception):
    """The worker refuses this connector: the row is skipped, with its message."""


@dataclass(slots=True)
class Bench:
    """The broker, the folder and the processes of a run."""

    broker: KafkaBroker
    folder: Path
    runs: int = 3
    rows: int = 1_000_000
    """Rows of the tables of the JDBC rows."""
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def worker(self, side: str, properties: Mapping[str, str] | None = None) -> WorkerProcess:
        """A new worker in its own group, with further worker properties, not started yet."""
        folder = self.folder / f"{side}-{next(self._numbers)}"
        if side == JAVA:
            return java_worker(folder, self.broker.bootstrap, {**_JAVA, **(properties or {})}, _JAVA_JVM)
        return our_worker(folder, self.broker.bootstrap, {**_BOTH, **(properties or {})})

    @contextmanager
    def running(
        self, side: str, properties: Mapping[str, str] | None = None, start_timeout: float = 120, warm: bool = True
    ) -> Iterator[Connect]:
        """A healthy worker that has run a connector, if `warm`, so that everything is loaded. It records no archive of
        classes any more, which a first start does in the background for some seconds of the processor."""
        worker, archive = self.worker(side, properties), archive_path() if side == OURS else None
        is_recorded = archive is None or archive.exists()
        worker.start(start_timeout)
        try:
            connect = Connect(worker)
            if warm:
                self._warm(connect)
            if archive is not None:
                wait_until(
                    lambda: (is_recorded or archive.exists()) and not records_archive(worker.pid), 180, every=0.5
                )
            yield connect
        finally:
            if worker.running():
                worker.stop(60)

    def _warm(self, connect: Connect) -> None:
        file = self.folder / "warm.txt"
        file.write_text("one\ntwo\n")
        for name, start in (("warm-source", connect.source), ("warm-sink", connect.sink)):
            target = str(file) if start == connect.source else str(self.folder / "warm-out.txt")
            start(name, target, self.topic("warm"))
        for name in ("warm-source", "warm-sink"):
            connect.ask("DELETE", f"/connectors/{name}")

    def topic(self, prefix: str = "bench", partitions: int = 1) -> str:
        return self.broker.create_topic(unique(prefix), partitions)


def records_archive(pid: int) -> bool:
    """Whether a JVM below a worker will write an archive of its classes when it ends."""
    return any("-XX:ArchiveClassesAtExit" in command_line(child) for child in children(pid))


def median(values: list[float]) -> float:
    return statistics.median(values)


def create(connect: Connect, name: str, config: dict[str, str], initial: str | None = None) -> None:
    """Creates a connector; raises Refused with the worker's message if the worker refuses it."""
    body: dict[str, object] = {"name": name, "config": config}
    if initial:
        body["initial_state"] = initial
    status, answer = connect.worker.request("POST", "/connectors", body)
    if status >= 300:
        message = answer.get("message", answer) if isinstance(answer, dict) else answer
        raise Refused(f"{status}: {message}")


def wait_running(connect: Connect, name: str, tasks: int = 1, timeout: float = 60) -> None:
    """Waits until the connector and all its tasks are RUNNING; raises Refused if a task fails."""

    def check() -> bool:
        connector, states = connect.states(name)
        if connector == "FAILED" or "FAILED" in states:
            trace = str(connect.status(name)).splitlines()[0]
            raise Refused(f"{name} is FAILED: {trace[:300]}")
        return connector == "RUNNING" and states == ["RUNNING"] * tasks

    wait_until(check, timeout, f"{name} RUNNING", every=0.01)
