"""Two real workers in a group: either of them answers any request as a single worker does."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.clusters.events import Follower
from tests.support.clusters.worker_group import WorkerGroup, worker_group, worker_id
from tests.support.connect import STRINGS, Connect
from tests.support.free_ports import free_port
from tests.support.servers.certificates import make_stores
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

Answer = tuple[int, Any]


@pytest.fixture
def group(tmp_path: Path, broker: KafkaBroker) -> Iterator[WorkerGroup]:
    with worker_group(tmp_path, broker) as found:
        yield found


@pytest.fixture
def pair(group: WorkerGroup) -> tuple[WorkerProcess, WorkerProcess]:
    """The leader and the other worker."""
    one, other = group.ours(), group.ours()
    group.start(one, other)
    return by_role(one, other)


def by_role(one: WorkerProcess, other: WorkerProcess) -> tuple[WorkerProcess, WorkerProcess]:
    def leader() -> str:
        found = [worker.request("GET", "/workers")[1] for worker in (one, other)]
        same = all(view["leader"] == found[0]["leader"] and len(view["workers"]) == 2 for view in found)
        return str(found[0]["leader"]) if same else ""

    return (one, other) if wait_until(leader, 30) == worker_id(one) else (other, one)


class Session:
    """Requests for one connector to one worker; answers without parts that differ between workers and connectors."""

    def __init__(self, worker: WorkerProcess, folder: Path) -> None:
        self.worker, self.name = worker, unique("c")
        self._folder = folder
        self._connect = Connect(worker)
        (folder / f"{self.name}.in").write_text("one\ntwo\n")
        self.answers: list[tuple[str, Answer]] = []

    @property
    def config(self) -> dict[str, str]:
        files = {"file": str(self._folder / f"{self.name}.in"), "topic": self.name}
        return {"connector.class": "FileStreamSource", "tasks.max": "1", **files, **STRINGS}

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Sends a request; `{n}` in the path is the connector's path."""
        code, answer = self.worker.request(method, path.replace("{n}", f"/connectors/{self.name}"), body)
        self.answers.append((f"{method} {path}", (code, self._neutral(answer))))
        return answer

    def batch_sizes(self) -> list[str | None]:
        """Of the tasks, as stored; a changed configuration arrives there later."""
        tasks = self.worker.request("GET", f"/connectors/{self.name}/tasks")[1]
        return [task["config"].get("batch.size") for task in tasks]

    def wait(self, connector: str, *tasks: str) -> None:
        self._connect.wait(self.name, connector, list(tasks))

    def _neutral(self, answer: Any) -> Any:
        text = json.dumps(answer).replace(self.name, "NAME")
        return _without_workers(json.loads(text))


def _without_workers(answer: Any) -> Any:
    if isinstance(answer, dict):
        left_out = ("worker_id", "time", "since", "who")
        return {key: _without_workers(value) for key, value in answer.items() if key not in left_out}
    return [_without_workers(value) for value in answer] if isinstance(answer, list) else answer


def life_of_a_connector(s: Session) -> None:
    """Every kind of request that changes something, and some that read."""
    s.ask("POST", "/connectors", {"name": s.name, "config": s.config})
    s.wait("RUNNING", "RUNNING")
    s.ask("POST", "/connectors", {"name": s.name, "config": s.config})
    s.ask("POST", "/connectors", {"name": s.name})
    s.ask("GET", "{n}")
    s.ask("GET", "{n}/status")
    s.ask("PUT", "{n}/config", {**s.config, "batch.size": "5"})
    s.ask("GET", "{n}/config")
    s.ask("PATCH", "{n}/config", {"batch.size": "6"})
    s.ask("PATCH", "{n}/config", {"tasks.max": "none"})
    s.ask("PUT", "/connectors/unknown-connector/pause")
    wait_until(lambda: s.batch_sizes() == ["6"])
    s.ask("PUT", "{n}/pause")
    s.wait("PAUSED", "PAUSED")
    s.ask("PUT", "{n}/resume")
    s.wait("RUNNING", "RUNNING")
    s.ask("POST", "{n}/restart")
    s.ask("POST", "{n}/tasks/0/restart")
    s.ask("POST", "{n}/tasks/7/restart")
    s.ask("POST", "/connectors/unknown-connector/restart")
    s.wait("RUNNING", "RUNNING")
    s.ask("POST", "{n}/restart?includeTasks=true")
    s.wait("RUNNING", "RUNNING")
    s.ask("GET", "{n}/errors")
    s.ask("DELETE", "{n}/offsets")
    s.ask("PUT", "{n}/stop")
    s.wait("STOPPED")
    entry = {"partition": {"filename": f"{s.config['file']}"}, "offset": {"position": 4}}
    s.ask("PATCH", "{n}/offsets", {"offsets": [entry]})
    s.ask("PATCH", "{n}/offsets", {"offsets": "none"})
    s.ask("GET", "{n}/offsets")
    s.ask("DELETE", "{n}/offsets")
    s.ask("GET", "{n}/offsets")
    s.ask("GET", "{n}/offsets/history")
    s.ask("DELETE", "/orphaned-offsets/unknown-connector")
    s.ask("DELETE", "{n}?offsets=true")
    s.ask("GET", "{n}")
    s.ask("DELETE", "{n}")
    s.ask("POST", "/connectors", {"name": s.name, "config": s.config, "initial_state": "STOPPED"})
    s.ask("DELETE", "{n}")
    s.ask("POST", "{n}/tasks", [{"a": "b"}])
    s.ask("PUT", "{n}/fence")


def test_both_workers_give_the_same_answers(pair: tuple[WorkerProcess, WorkerProcess], tmp_path: Path) -> None:
    leader, other = Session(pair[0], tmp_path), Session(pair[1], tmp_path)
    for session in (leader, other):
        life_of_a_connector(session)
    for given, expected in zip(other.answers, leader.answers, strict=True):
        assert given == expected
    codes = [(request, answer[0]) for request, answer in other.answers]
    assert [code for request, code in codes if request == "POST /connectors"] == [201, 409, 400, 201]
    altered = next(answer for request, answer in other.answers if request == "PATCH {n}/offsets")
    assert altered[0] == 200, altered


def test_location_and_history_refer_to_the_worker_that_the_client_called(
    pair: tuple[WorkerProcess, WorkerProcess], tmp_path: Path
) -> None:
    session = Session(pair[1], tmp_path)
    body = json.dumps({"name": session.name, "config": session.config, "initial_state": "STOPPED"}).encode()
    request = urllib.request.Request(f"{pair[1].url}/connectors", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.headers["Location"] == f"{pair[1].url}/connectors/{session.name}"
    entry = {"partition": {"filename": session.config["file"]}, "offset": {"position": 4}}
    headers = {"Content-Type": "application/json", "Headrace-User": "ann", "Headrace-Reason": "again"}
    url = f"{pair[1].url}/connectors/{session.name}/offsets"
    change = urllib.request.Request(url, json.dumps({"offsets": [entry]}).encode(), headers, method="PATCH")
    with urllib.request.urlopen(change, timeout=30):
        pass
    for worker in pair:
        (past,) = worker.request("GET", f"/connectors/{session.name}/offsets/history")[1]["history"]
        assert (past["who"], past["why"]) == ("ann@127.0.0.1", "again")


def test_logs_and_stacks_are_available_on_both_workers(
    pair: tuple[WorkerProcess, WorkerProcess], tmp_path: Path
) -> None:
    session = Session(pair[0], tmp_path)
    session.ask("POST", "/connectors", {"name": session.name, "config": session.config})
    session.wait("RUNNING", "RUNNING")
    for worker in pair:
        wait_until(partial(_has_stack, worker, session.name), 30)
    here = [len(worker.request("GET", f"/connectors/{session.name}/logs?forward=false")[1]) for worker in pair]
    everywhere = [len(worker.request("GET", f"/connectors/{session.name}/logs")[1]) for worker in pair]
    assert everywhere[0] == everywhere[1] >= max(here)


def _has_stack(worker: WorkerProcess, name: str) -> bool:
    return bool(worker.request("GET", f"/connectors/{name}/tasks/0/stack")[0] == 200)


def test_events_of_either_worker_cover_the_group(
    pair: tuple[WorkerProcess, WorkerProcess], group: WorkerGroup, topic: str, tmp_path: Path
) -> None:
    followers = [Follower(worker.url) for worker in pair]
    names = []
    for _ in range(6):
        names.append(unique("c"))
        (tmp_path / f"{names[-1]}.in").write_text("one\n")
        group.connect.source(names[-1], str(tmp_path / f"{names[-1]}.in"), topic)
    group.wait_running(names)
    wait_until(lambda: {group.worker_of(name) for name in names} == set(pair), 60, "connectors on both workers")
    for follower in followers:
        wait_until(partial(_has_states_and_progress, follower, names), 30, "states and progress of all connectors")
    for name in names:
        assert pair[0].request("DELETE", f"/connectors/{name}")[0] == 204
    for follower in followers:
        wait_until(partial(_has_removals, follower, names), 30, "removals of all connectors")


def _has_states_and_progress(follower: Follower, names: list[str]) -> bool:
    entries = follower.of("connector")
    running = {e["name"] for e in entries if any(task["state"] == "RUNNING" for task in e["status"]["tasks"])}
    return running >= set(names) and all(follower.progress(name) for name in names)


def _has_removals(follower: Follower, names: list[str]) -> bool:
    return {event["name"] for event in follower.of("removed")} >= set(names)


def test_workers_forward_over_https_with_the_stores_of_their_listeners(group: WorkerGroup, tmp_path: Path) -> None:
    stores = make_stores(tmp_path / "stores")
    https = {
        "listeners.https.ssl.keystore.location": str(stores.p12),
        "listeners.https.ssl.keystore.password": stores.password,
        "listeners.https.ssl.truststore.location": str(stores.trust),
        "listeners.https.ssl.client.auth": "required",
        "rest.advertised.listener": "https",
    }
    workers = [_with_https(group, https) for _ in range(2)]
    group.start(*workers)
    for worker in workers:
        session = Session(worker, tmp_path)
        session.ask("POST", "/connectors", {"name": session.name, "config": session.config})
        assert session.answers[-1][1][0] == 201
        session.wait("RUNNING", "RUNNING")
    for worker in workers:
        assert stores.password not in worker.log.read_text()


def _with_https(group: WorkerGroup, properties: dict[str, str]) -> WorkerProcess:
    """A worker that serves the test over http, and other workers over https."""
    http, https = free_port(), free_port()
    listeners = f"http://127.0.0.1:{http},https://127.0.0.1:{https}"
    worker = group.ours({**properties, "listeners": listeners})
    worker.url = f"http://127.0.0.1:{http}"
    return worker


@pytest.mark.soak
def test_requests_succeed_while_the_session_key_is_rotated(group: WorkerGroup, tmp_path: Path) -> None:
    workers = [group.ours({"inter.worker.key.ttl.ms": "1000"}) for _ in range(2)]
    group.start(*workers)
    _, other = by_role(*workers)
    session = Session(other, tmp_path)
    session.ask("POST", "/connectors", {"name": session.name, "config": session.config})

    def rotations() -> int:
        return sum(worker.log.read_text().count("Distributed a new session key") for worker in workers)

    first = rotations()
    while rotations() < first + 3:
        session.ask("PUT", "{n}/config", {**session.config, "tasks.max": "1"})
        session.wait("RUNNING", "RUNNING")
    assert {answer[0] for _, answer in session.answers} == {200, 201}
