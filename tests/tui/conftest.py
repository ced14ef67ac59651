"""Apache's Connect worker for the tests of the screens, and connectors that belong to a test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import unique
from tests.support.clusters import rest
from tests.support.connect import JSON, STRINGS
from tests.support.console.idle import wait_for_idle
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Typed commands and promotions end with the response of the worker."""
    monkeypatch.setenv("HEADRACE_SETTLE", "0s")


@pytest.fixture(autouse=True)
def brief_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pilot goes on as soon as the console is idle."""
    for module in ("app", "pilot"):
        monkeypatch.setattr(f"textual.{module}.wait_for_idle", wait_for_idle)


class Cluster:
    """A worker's REST API, and the connectors made through this object."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        self.made: list[str] = []

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        return rest.settled_request(self.url + path, method, body)

    def create(self, name: str, config: dict[str, str], state: str = "RUNNING") -> str:
        status, answer = self.request(
            "POST", "/connectors", {"name": name, "config": {**STRINGS, **config}, "initial_state": state}
        )
        assert status == 201, answer
        self.made.append(name)
        return name

    def source(self, prefix: str = "source", lines: int = 100, state: str = "RUNNING") -> str:
        """A file source; its offset is at the end of its file once it has read it."""
        name = unique(prefix)
        file = self.folder / f"{name}.txt"
        file.write_text("".join(f"line {number:04}\n" for number in range(lines)))
        config = {"connector.class": "FileStreamSource", "file": str(file), "topic": name, "tasks.max": "1"}
        return self.create(name, config, state)

    def running_sources(self, count: int, prefix: str) -> list[str]:
        """The names of sources that are RUNNING, sorted. They are created at the same time: Apache's worker rebalances
        for each of several connectors that are created one after another."""
        with ThreadPoolExecutor(count) as pool:
            names = sorted(pool.map(lambda _: self.source(prefix), range(count)))
        for name in names:
            self.wait(name, "RUNNING 1/1")
        return names

    def sink(self, topic: str, prefix: str = "sink", **config: str) -> str:
        name = unique(prefix)
        out = str(self.folder / f"{name}.out")
        return self.create(name, {"connector.class": "FileStreamSink", "file": out, "topics": topic, **config})

    def failing(self, topic: str) -> str:
        """A sink that cannot read the plain text of the topic as JSON."""
        return self.sink(topic, "failing", **{"value.converter": JSON})

    def state(self, name: str) -> str:
        """Connector state and running tasks, such as `RUNNING 1/1`; empty without a status."""
        status, answer = self.request("GET", f"/connectors/{name}/status")
        if status != 200:
            return ""
        running = sum(task["state"] == "RUNNING" for task in answer["tasks"])
        return f"{answer['connector']['state']} {running}/{len(answer['tasks'])}"

    def offsets(self, name: str) -> list[Any]:
        status, answer = self.request("GET", f"/connectors/{name}/offsets")
        assert status == 200, answer
        return [(entry["partition"], entry["offset"]) for entry in answer["offsets"]]

    def wait(self, name: str, state: str) -> None:
        wait_until(lambda: self.state(name) == state, 60, f"{name} {state}", every=0.1)

    def wait_failed(self, name: str) -> None:
        """Waits for a FAILED task. `RUNNING 0/1` does not suffice, since a task may not have started yet."""

        def failed() -> bool:
            status, answer = self.request("GET", f"/connectors/{name}/status")
            return status == 200 and any(task["state"] == "FAILED" for task in answer["tasks"])

        wait_until(failed, 60, f"a FAILED task of {name}", every=0.1)

    def wait_offset(self, name: str) -> Any:
        """The first committed offset."""
        return wait_until(lambda: self.offsets(name), 90, f"offsets of {name}", every=0.2)[0][1]

    def close(self) -> None:
        with ThreadPoolExecutor(max(len(self.made), 1)) as pool:
            list(pool.map(lambda name: self.request("DELETE", f"/connectors/{name}"), self.made))


@pytest.fixture(scope="session")
def connect_url(request: pytest.FixtureRequest) -> str:
    """The URL of Apache's worker. HEADRACE_TEST_CONNECT may name one that is already running."""
    return os.environ.get("HEADRACE_TEST_CONNECT") or str(request.getfixturevalue("java_connect").url)


@pytest.fixture
def cluster(connect_url: str, tmp_path: Path) -> Iterator[Cluster]:
    with closing(Cluster(connect_url, tmp_path)) as one:
        yield one


@pytest.fixture(params=["connect_url", "our_connect_url"])
def each_cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    """Apache's worker, and ours."""
    with closing(Cluster(request.getfixturevalue(request.param), tmp_path)) as one:
        yield one


@pytest.fixture
def stopped_source(cluster: Cluster) -> str:
    """A stopped file source that has committed the end of its file: position 1000."""
    name = cluster.source()
    cluster.wait(name, "RUNNING 1/1")
    wait_until(lambda: cluster.request("GET", f"/connectors/{name}/topics")[1][name]["topics"], 60, "records")
    cluster.request("PUT", f"/connectors/{name}/stop")
    cluster.wait(name, "STOPPED 0/0")
    assert cluster.wait_offset(name) == {"position": 1000}
    return name


@pytest.fixture(scope="session")
def our_connect_url(our_connect: WorkerProcess) -> str:
    """The URL of a Headrace worker with the test plugins."""
    return our_connect.url


@pytest.fixture
def ours(our_connect_url: str, tmp_path: Path) -> Iterator[Cluster]:
    """That worker with the connectors of the test."""
    with closing(Cluster(our_connect_url, tmp_path)) as one:
        yield one


@pytest.fixture
def other(cluster: Cluster, connect_url: str, our_connect_url: str, tmp_path: Path) -> Iterator[Cluster]:
    """The worker that `cluster` is not."""
    with closing(Cluster(our_connect_url if cluster.url == connect_url else connect_url, tmp_path)) as one:
        yield one
