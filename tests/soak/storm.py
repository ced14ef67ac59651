"""Start storms: thousands of connectors created at once, then restarts of the worker next to a busy process.

`python -m tests.soak.storm [--connectors 3000] [--restarts 10] [--neighbour 1] [--limit 25]`

A run succeeds if every creation and restart ends with all connectors RUNNING, if no RUNNING connector leaves that
state on the way (a relapse), and if each restart takes at most `--limit` seconds.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.broker import EmbeddedBroker
from tests.support.connect import SOURCE, STRINGS, Connect, is_running
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess, our_worker

CONNECTIONS = 16
_REST = 4
"""Pauses between requests for all states, in durations of such a request."""
NEIGHBOUR = "while True: pass"
_ATTEMPT = re.compile(r"Slot (\d+) is up \(process \d+, attempt (\d+)\)")


@dataclass(slots=True)
class Settling:
    """The result of one start of the worker. Times are in seconds."""

    what: str
    seconds: float = 0.0
    relapses: int = 0
    attempts: int = 0  # starts of slots
    lag: float = 0.0  # the longest time that the worker's event loop was blocked
    running: int = 0
    trouble: str = ""

    def row(self) -> str:
        return (
            f"{self.what:14} {self.running} RUNNING after {self.seconds:6.1f} s, {self.relapses} relapses, "
            f"{self.attempts} slot starts, event loop blocked {self.lag * 1000:.0f} ms at most {self.trouble}"
        )


@dataclass(slots=True)
class Storm:
    """A worker and its connectors."""

    folder: Path
    connectors: int
    worker: WorkerProcess
    connect: Connect
    settlings: list[Settling] = field(default_factory=list)
    _asked: float = 0.0
    """Seconds of the last request for all states, its decoding included."""

    def create(self, timeout: float) -> None:
        """Creates all connectors through a few connections, then waits until they are RUNNING. After `timeout` seconds
        no more are created, and `connectors` is the number of those that exist."""
        names = [f"storm-{number:05d}" for number in range(self.connectors)]
        deadline = time.monotonic() + timeout

        def create(name: str) -> bool:
            file = self.folder / f"{name}.txt"
            file.write_text("one line\n")
            config = {"connector.class": SOURCE, "tasks.max": "1", "file": str(file), "topic": "storm", **STRINGS}
            while time.monotonic() < deadline:
                status, answer = self.worker.request("POST", "/connectors", {"name": name, "config": config})
                if status < 300:
                    return True
                assert status == 409, f"{name}: {status} {answer}"
                time.sleep(0.1)  # a rebalance
            return False

        def create_all() -> None:
            with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as pool:
                created = sum(pool.map(create, names))
            if created < self.connectors:
                self.connectors, self.settlings[-1].trouble = created, f"{timeout:.0f} s were over"

        self._settle("created", create_all, timeout)

    def restart(self, kill: bool, timeout: float) -> None:
        """Ends the worker by SIGKILL or SIGTERM, and starts it again."""
        if kill:
            self.worker.kill()
        else:
            self.worker.stop(60)
        self._settle("after SIGKILL" if kill else "after SIGTERM", lambda: self.worker.start(wait=False), timeout)

    def _settle(self, what: str, begin: Callable[[], None], timeout: float) -> None:
        log_from = self.worker.log.stat().st_size if self.worker.log.exists() else 0
        settling, started = Settling(what), time.monotonic()
        self.settlings.append(settling)
        begin()
        before = 0

        def settled() -> bool:
            nonlocal before
            time.sleep(_REST * self._asked)  # the measurement costs at most a fifth of a processor
            if not self.worker.running():
                settling.trouble = "the worker process has ended"
                return True
            settling.running = self._running()
            settling.relapses += settling.running < before
            before = settling.running
            return settling.running == self.connectors

        try:
            wait_until(settled, timeout, "all connectors RUNNING", every=0.5)
            settling.seconds = time.monotonic() - started
            wait_until(lambda: not settled() or time.monotonic() - started > settling.seconds + 10, 60, every=1)
        except AssertionError:
            settling.seconds = time.monotonic() - started
            settling.trouble = f"{settling.running} RUNNING after {timeout:.0f} s"
        log = self.worker.log.read_bytes()[log_from:].decode(errors="replace")
        settling.attempts = len(_ATTEMPT.findall(log))
        settling.lag = max(
            (float(ms) / 1000 for ms in re.findall(r"event loop was blocked for (\d+) ms", log)), default=0.0
        )
        print(settling.row(), flush=True)

    def _running(self) -> int:
        started = time.monotonic()
        try:
            status, entries = self.worker.request("GET", "/connectors?expand=status")
        except OSError:
            return 0
        if status != 200:
            return 0
        running = sum(is_running(entry.get("status")) for entry in entries.values())
        self._asked = time.monotonic() - started
        return running


def storm(
    folder: Path, connectors: int, restarts: int, neighbours: int, timeout: float, keep_log: Path | None = None
) -> list[Settling]:
    """Creates connectors, then restarts the worker repeatedly, by SIGKILL and SIGTERM in turn, while busy processes
    run on the machine. Returns the result of each start; `keep_log` receives the worker's log."""
    busy = [subprocess.Popen([sys.executable, "-c", NEIGHBOUR]) for _ in range(neighbours)]
    broker = EmbeddedBroker(folder / "broker")
    broker.start()
    worker = our_worker(folder, broker.bootstrap, {})
    try:
        broker.create_topic("storm")
        worker.start()
        running = Storm(folder, connectors, worker, Connect(worker))
        running.create(timeout)
        for number in range(restarts):
            running.restart(number % 2 == 0, timeout)
        return running.settlings
    finally:
        for neighbour in busy:
            neighbour.kill()
        if worker.running():
            worker.stop(60)
        if keep_log is not None:
            keep_log.write_bytes(worker.log.read_bytes())
        broker.stop()


def table(settlings: list[Settling]) -> str:
    """The results as a table for docs/benchmarks.md."""
    rows = [
        f"| {s.what} | {s.running} | {s.seconds:.1f} | {s.relapses} | {s.attempts} | {s.lag * 1000:.0f} |"
        for s in settlings
    ]
    head = "| start | RUNNING | after s | relapses | slot starts | event loop blocked, ms at most |"
    return "\n".join([head, "| --- | ---: | ---: | ---: | ---: | ---: |", *rows])


def sound(settlings: list[Settling], connectors: int, limit: float) -> bool:
    """Whether every start ended with all connectors RUNNING and without a relapse, and restarts took at most `limit`
    seconds."""
    at_rest = all(s.running == connectors and not s.trouble and not s.relapses for s in settlings)
    return at_rest and all(s.seconds <= limit for s in settlings[1:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connectors", type=int, default=3000)
    parser.add_argument("--restarts", type=int, default=10)
    parser.add_argument("--neighbour", type=int, default=1, help="how many processes that only compute run beside it")
    parser.add_argument("--limit", type=float, default=25.0, help="seconds that a restart may take")
    parser.add_argument("--timeout", type=float, default=240.0)
    parser.add_argument("--log", type=Path, help="a file for the worker's log")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headrace-storm-") as name:
        found = storm(Path(name), given.connectors, given.restarts, given.neighbour, given.timeout, given.log)
    return 0 if sound(found, given.connectors, given.limit) else 1


if __name__ == "__main__":
    sys.exit(main())
