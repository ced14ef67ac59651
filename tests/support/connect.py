"""Connect's REST API as methods for tests, some of which wait for states."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tests.support.clusters import rest
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

SOURCE, SINK = "FileStreamSource", "FileStreamSink"
STRING = "org.apache.kafka.connect.storage.StringConverter"
STRINGS = {"key.converter": STRING, "value.converter": STRING}
JSON = "org.apache.kafka.connect.json.JsonConverter"
JSON_VALUES = {"value.converter": JSON, "value.converter.schemas.enable": "false"}
"""Without schemas."""


def dead_letters(topic: str) -> dict[str, str]:
    """The configuration of a sink that tolerates all errors, with this dead letter topic."""
    return {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": topic,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }


class Connect:
    """A worker seen through its REST API; refusals raise AssertionError with the worker's message."""

    def __init__(self, worker: WorkerProcess) -> None:
        self.worker = worker

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and decoded body of a request, which is repeated while the worker's group rebalances."""
        return rest.settled_request(self.worker.url + path, method, body)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        status, answer = self.request(method, path, body)
        assert status < 300, f"{method} {path}: {status} {answer}"
        return answer

    def create(self, name: str, config: dict[str, str], **more: Any) -> None:
        self.ask("POST", "/connectors", {"name": name, "config": config, **more})

    def source(self, name: str, file: str, topic: str, **more: str) -> None:
        """Creates a FileStreamSource with StringConverter, and waits until it is RUNNING."""
        config = {"connector.class": SOURCE, "file": file, "topic": topic, "tasks.max": "1", **STRINGS, **more}
        self.create(name, config)
        self.wait(name, "RUNNING", ["RUNNING"])

    def sink(self, name: str, file: str, topics: str, **more: str) -> None:
        """Creates a FileStreamSink with StringConverter, and waits until it is RUNNING."""
        config = {"connector.class": SINK, "file": file, "topics": topics, "tasks.max": "1", **STRINGS, **more}
        self.create(name, config)
        self.wait(name, "RUNNING", ["RUNNING"] * int(config["tasks.max"]))

    def status(self, name: str) -> dict[str, Any]:
        status: dict[str, Any] = self.ask("GET", f"/connectors/{name}/status")
        return status

    def states(self, name: str) -> tuple[str, list[str]]:
        """The connector's state, and the states of its tasks by id; ("NONE", []) while it has no status."""
        code, body = self.request("GET", f"/connectors/{name}/status")
        if code != 200:
            return "NONE", []
        tasks = sorted(body["tasks"], key=lambda t: t["id"])
        return body["connector"]["state"], [t["state"] for t in tasks]

    def wait(self, name: str, connector: str, tasks: list[str] | None = None, timeout: float = 60) -> None:
        def reached() -> bool:
            now = self.states(name)
            return now[0] == connector and (tasks is None or now[1] == tasks)

        try:
            wait_until(reached, timeout, f"{name} {connector} {tasks}")
        except AssertionError as e:
            raise AssertionError(f"{e}; now {self.request('GET', f'/connectors/{name}/status')}") from None

    def wait_failed(self, name: str, reason: str) -> None:
        """Waits until a task is FAILED with this text in its trace."""

        def has_failed() -> bool:
            tasks = self.status(name)["tasks"]
            return any(task["state"] == "FAILED" and reason in task["trace"] for task in tasks)

        try:
            wait_until(has_failed, 60, reason)
        except AssertionError:
            raise AssertionError(self.status(name)) from None

    def delete_all(self) -> None:
        """Deletes all connectors with their offsets, and the offsets of sources that were deleted before."""
        for name in map(_quoted, self.ask("GET", "/connectors")):
            if self.request("DELETE", f"/connectors/{name}?offsets=true")[0] >= 300:
                self.ask("DELETE", f"/connectors/{name}")  # its offsets cannot be reset
        for orphan in self.ask("GET", "/orphaned-offsets")["sources"]:
            self.ask("DELETE", f"/orphaned-offsets/{_quoted(orphan['connector'])}")

    def put(self, name: str, verb: str) -> None:
        """Sends pause, resume or stop."""
        self.ask("PUT", f"/connectors/{name}/{verb}")

    def stop(self, name: str) -> None:
        self.put(name, "stop")
        self.wait(name, "STOPPED", [])

    def resume(self, name: str, tasks: int = 1) -> None:
        self.put(name, "resume")
        self.wait(name, "RUNNING", ["RUNNING"] * tasks)

    def slot_of(self, name: str) -> int:
        """The pid of the slot of the first task, which may still start."""

        def stack() -> Any:
            status, response = self.request("GET", f"/connectors/{_quoted(name)}/tasks/0/stack")
            return response if status == 200 else None

        return int(wait_until(stack, 600, "the task's slot")["pid"])

    def offsets(self, name: str) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = self.ask("GET", f"/connectors/{name}/offsets")["offsets"]
        return entries

    def offset(self, name: str) -> dict[str, Any]:
        """The offset of a source with one partition; empty before the first commit."""
        entries = self.offsets(name)
        return dict(entries[0]["offset"]) if entries else {}

    def committed(self, sink: str) -> int:
        """The sum of a sink's offsets: its records, if it has read its topics from the start."""
        return sum(entry["offset"]["kafka_offset"] for entry in self.offsets(sink))

    def logs(self, name: str) -> Any:
        """The connector's last log lines."""
        return self.ask("GET", f"/connectors/{name}/logs")

    def alter(self, name: str, *entries: tuple[dict[str, Any], dict[str, Any] | None]) -> str:
        """Sends PATCH offsets; returns the worker's message."""
        body = {"offsets": [{"partition": p, "offset": o} for p, o in entries]}
        message: str = self.ask("PATCH", f"/connectors/{name}/offsets", body)["message"]
        return message


def _quoted(name: str) -> str:
    return quote(name, safe="")


def is_running(status: dict[str, Any] | None) -> bool:
    """Whether the connector and all of its tasks, at least one, are RUNNING."""
    if not status or not status["tasks"]:
        return False
    return {status["connector"]["state"], *(task["state"] for task in status["tasks"])} == {"RUNNING"}
