"""A client of a group whose workers come and go."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.support.broker import unique
from tests.support.clusters import rest
from tests.support.clusters.worker_group import is_transient, is_transient_in_java
from tests.support.connect import STRINGS, Connect
from tests.support.workers import WorkerProcess

CONNECTORS = 5


class RetryingClient:
    """Creates, changes and reads connectors one after another, at the workers in turn; runs on its own thread.

    A worker that refuses connections or is still starting (503) is skipped. A request answered with 409 because of a
    rebalance is repeated (by Apache's workers, also with 500); nothing else is."""

    def __init__(self, workers: Callable[[], Sequence[WorkerProcess]], folder: Path, java: bool = False) -> None:
        """`java`: workers of Apache are among them."""
        self._workers, self._folder, self._java = workers, folder, java
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="client")
        self.prefix = unique("rolling")
        self.wanted: dict[str, str] = {}  # the number that the config of each connector has
        self.answered = self.repeated = 0
        self.lost: list[str] = []
        self.longest = 0.0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        self._thread.join()

    @property
    def summary(self) -> str:
        return f"{self.answered} requests, {self.repeated} repeated after 409, the longest {self.longest:.1f} s"

    def forgotten(self, connect: Connect) -> dict[str, str]:
        """The connectors whose last accepted change is not stored, with the number that is stored instead."""
        stored = {name: connect.ask("GET", f"/connectors/{name}/config")["number"] for name in self.wanted}
        return {name: number for name, number in stored.items() if number != self.wanted[name]}

    def _run(self) -> None:
        number = 0
        while not self._end.wait(0.1):
            number += 1
            name = f"{self.prefix}-{number % CONNECTORS}"
            config = {"connector.class": "FileStreamSink", "tasks.max": "1", "topics": self.prefix, **STRINGS}
            config |= {"file": str(self._folder / f"{name}.out"), "number": str(number)}
            if self._ask("PUT", f"/connectors/{name}/config", config, {200, 201}, number):
                self.wanted[name] = str(number)
            if number > CONNECTORS:
                self._ask("GET", f"/connectors/{name}", None, {200}, number + 1)

    def _ask(self, method: str, path: str, body: object, expected: set[int], turn: int) -> bool:
        started = time.monotonic()
        status, answer = self._answer(method, path, body, turn)
        self.longest = max(self.longest, time.monotonic() - started)
        self.answered += 1
        if status not in expected:
            self.lost.append(f"{method} {path}: {status} {answer}")
        return status in expected

    def _answer(self, method: str, path: str, body: object, turn: int) -> tuple[int, object]:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            workers = self._workers()
            worker = workers[turn % len(workers)]
            try:
                answer = rest.request(worker.url + path, method, body, timeout=60)
            except OSError as error:
                if not isinstance(getattr(error, "reason", error), ConnectionRefusedError):
                    return 0, f"{worker.url}: {type(error).__name__}: {error}"
                turn += 1
                continue
            if answer[0] == 503:  # it is still starting
                turn += 1
                time.sleep(0.05)
                continue
            if not is_transient(*answer) and not (self._java and is_transient_in_java(*answer)):
                return answer
            self.repeated += 1
            time.sleep(0.1)
        return 0, "no response within 60 s"
