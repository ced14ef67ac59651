"""What a scenario does with a worker, and the steps that record its responses."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import httpx
from confluent_kafka import Message

from tests.contract.parity.kafka import Kafka, Produced
from tests.contract.parity.names import SINK, SOURCE
from tests.contract.parity.normalization import Normalizer, decoded, sorted_json, with_sorted_entries
from tests.support.waiting import poll

Config = dict[str, Any]
Step = dict[str, Any]
Topic = Literal["config", "offset", "status"]

_STEP_HEADERS = ("content-type", "location", "allow")


@dataclass(frozen=True, slots=True)
class Target:
    """A worker and its broker. Both sides see the folder. `wait`: bound of each wait in seconds."""

    url: str
    bootstrap: str
    topics: Mapping[Topic, str]
    folder: Path
    wait: float = 20.0


class Recorder:
    """The connection of one scenario to a worker. Names of connectors and topics begin with `id`."""

    def __init__(self, target: Target, scenario: str) -> None:
        self.target, self._scenario = target, scenario
        self.id = "par" + uuid.uuid4().hex[:6]
        self.folder = Path(tempfile.mkdtemp(prefix="parity-", dir=target.folder))
        self.folder.chmod(0o777)
        self.steps: list[Step] = []
        self.normalize = Normalizer({str(self.folder): "<dir>", target.url: "<url>", self.id: "<id>"})
        self.kafka = Kafka(target.bootstrap, self.id)
        # Without kept-alive connections: some workers close them after errors, which would race with the next request.
        self._client = httpx.Client(timeout=100, limits=httpx.Limits(max_keepalive_connections=0), trust_env=False)
        self._groups: set[str] = set()
        self._labels: set[str] = set()

    def close(self) -> None:
        """Deletes what the scenario has left."""
        with suppress(httpx.HTTPError, ValueError):
            for name in self.call("GET", "/connectors").json():
                if self.id in name:
                    self.call("DELETE", f"/connectors/{quote(name, safe='')}")
        self.kafka.delete(sorted(self._groups))
        shutil.rmtree(self.folder, ignore_errors=True)
        self._client.close()

    # Names and files

    def name(self, short: str) -> str:
        return f"{self.id}-{short}"

    def file(self, short: str) -> str:
        return str(self.folder / short)

    def write(self, short: str, text: str) -> None:
        """Appends to a file."""
        with (self.folder / short).open("a") as file:
            file.write(text)

    def partition(self, short: str = "a") -> dict[str, str]:
        """The source partition of a file."""
        return {"filename": self.file(short + ".txt")}

    # Steps

    def record(self, label: str, **step: Any) -> None:
        unused, number = label, 2
        while unused in self._labels:
            unused, number = f"{label} ({number})", number + 1
        self._labels.add(unused)
        self.steps.append({"scenario": self._scenario, "step": unused, **step})

    def record_as(self, kind: str, label: str, data: Any) -> None:
        self.record(label, kind=kind, data=self.normalize(data))

    # HTTP

    def send(
        self, method: str, path: str, body: Any = None, raw: str | bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:  # fmt: skip
        """Sends one request: `raw` as it is, or `body` as JSON."""
        content = raw.encode() if isinstance(raw, str) else raw
        if raw is None and body is not None:
            content = json.dumps(body).encode()
        kind = {"Content-Type": "application/json"} if content is not None or method in ("POST", "PUT", "PATCH") else {}
        sent = {"Accept": "application/json", **kind, **(headers or {})}
        try:
            return self._client.request(method, self.target.url + path, content=content, headers=sent)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            time.sleep(0.2)
            return self._client.request(method, self.target.url + path, content=content, headers=sent)

    def call(self, method: str, path: str, retry: bool = True, **content: Any) -> httpx.Response:
        """As `send()`, but waits while a rebalance is answered with 409."""

        def done(response: httpx.Response) -> bool:
            return response.status_code != 409 or not retry or "already exists" in response.text

        return poll(lambda: self.send(method, path, **content), done, self.target.wait, every=0.3)

    def request(
        self, label: str, method: str, path: str, body: Any = None, *, raw: str | bytes | None = None,
        headers: Mapping[str, str] | None = None, project: Callable[[Any], Any] | None = None, retry: bool = True,
    ) -> httpx.Response:  # fmt: skip
        """Records a request and its response. `project`: the part of a successful response that is compared."""
        response = self.call(method, path, retry, body=body, raw=raw, headers=headers)
        content = decoded_body(response)
        if project is not None and response.status_code < 300:
            content = project(content)
        sent = {"request": self.normalize(body)} if body is not None else {}
        sent |= {"request_raw": self.normalize.text(raw)} if body is None and raw is not None else {}
        self.record(
            label, kind="http", method=method, path=self.normalize.text(path), status=response.status_code,
            headers=self._headers(response), body=self.normalize(content), **sent,
        )  # fmt: skip
        return response

    def _headers(self, response: httpx.Response) -> dict[str, str]:
        found = {name: response.headers[name] for name in _STEP_HEADERS if name in response.headers}
        if "allow" in found:
            found["allow"] = ",".join(sorted(method.strip() for method in found["allow"].split(",")))
        return {name: self.normalize.text(value) for name, value in found.items()}

    def get(self, label: str, path: str, project: Callable[[Any], Any] | None = None) -> httpx.Response:
        return self.request(label, "GET", path, project=project)

    def json(self, path: str) -> Any:
        return self.send("GET", path).json()

    def requests(self, method: str, path: str, bodies: Iterable[tuple[str, Any]], **options: Any) -> None:
        """The same request with several bodies, each with its label."""
        for label, body in bodies:
            self.request(label, method, path, body, **options)

    def raw_requests(self, method: str, path: str, contents: Iterable[tuple[str, str | bytes]]) -> None:
        """The same request with several contents as they are."""
        for label, raw in contents:
            self.request(label, method, path, raw=raw)

    def gets(self, prefix: str, paths: Iterable[tuple[str, str]]) -> None:
        for label, path in paths:
            self.get(label, prefix + path)

    def own(self, found: Iterable[str]) -> list[str]:
        """The names of this scenario in a list of connectors."""
        return [name for name in found if self.id in name]

    # Waiting

    def wait(self, label: str, read: Callable[[], tuple[bool, Any]], seconds: float | None = None) -> None:
        """Calls read() -> (done, data) until it is done; records whether it was, and the last data."""

        def result() -> tuple[bool, Any]:
            try:
                return read()
            except (httpx.HTTPError, ValueError, LookupError, TypeError, OSError) as error:
                return False, type(error).__name__

        done, data = poll(result, lambda found: found[0], seconds or self.target.wait)
        self.record(label, kind="wait", ok=bool(done), data=self.normalize(data))

    def wait_json(
        self, label: str, path: str, done: Callable[[Any], bool], data: Callable[[Any], Any] = lambda body: body
    ) -> None:
        """Waits until a condition holds for the body of a GET, and records `data` of it."""

        def read() -> tuple[bool, Any]:
            body = self.json(path)
            return done(body), data(body)

        self.wait(label, read)

    def wait_state(
        self, name: str, connector: str, tasks: Sequence[str] | None = None, label: str | None = None
    ) -> None:
        """`tasks`: their states in order of their ids; None ignores the tasks."""

        def read() -> tuple[bool, Any]:
            response = self.send("GET", f"/connectors/{quote(name, safe='')}/status")
            if response.status_code != 200:
                return False, {"status": response.status_code}
            status = response.json()
            states = [task["state"] for task in sorted(status["tasks"], key=lambda task: task["id"])]
            found = {"connector": status["connector"]["state"], "tasks": states}
            return found["connector"] == connector and (tasks is None or states == list(tasks)), found

        expected = "*" if tasks is None else ",".join(tasks)
        self.wait(label or f"wait {self.normalize.text(name)} {connector}/{expected}", read)

    def wait_running(self, name: str, tasks: int = 1) -> None:
        self.wait_state(name, "RUNNING", ["RUNNING"] * tasks)

    def settle(self, name: str, state: str, tasks: Sequence[str]) -> None:
        """Waits after an asynchronous request whose final state equals its initial state."""
        time.sleep(1.5)
        self.wait_state(name, state, tasks)

    def wait_gone(self, name: str) -> None:
        def read() -> tuple[bool, Any]:
            path = f"/connectors/{quote(name, safe='')}"
            codes = [self.send("GET", at).status_code for at in (path, f"{path}/status")]
            return codes == [404, 404], dict(zip(("info", "status"), codes, strict=True))

        self.wait(f"wait {self.normalize.text(name)} gone", read)

    def wait_offsets(self, label: str, name: str, wanted: list[Any]) -> None:
        def read() -> tuple[bool, Any]:
            response = self.send("GET", f"/connectors/{name}/offsets")
            if response.status_code != 200:
                return False, {"status": response.status_code}
            body = response.json()
            return sorted(body["offsets"], key=sorted_json) == sorted(wanted, key=sorted_json), body

        self.wait(label, read)

    # Connectors

    def source(self, short: str, topic: str, lines: Iterable[str] | None = None, **more: Any) -> Config:
        """The configuration of a file source, whose file then has these lines. `more`: further keys; a dot is `__`."""
        if lines is not None:
            (self.folder / f"{short}.txt").write_text("".join(f"{line}\n" for line in lines))
        config = {"connector.class": SOURCE, "tasks.max": "1", "file": self.file(short + ".txt"), "topic": topic}
        return {**config, **keys(more)}

    def sink(self, short: str, topics: str | None, **more: Any) -> Config:
        config = {"connector.class": SINK, "tasks.max": "1", "file": self.file(short + ".out")}
        self._groups.add("connect-" + self.name(short))
        return {**config, **({"topics": topics} if topics else {}), **keys(more)}

    def create(
        self, short: str, config: Config, label: str | None = None, state: str = "", tasks: int | None = 1
    ) -> str:
        """Creates a connector, and waits for its initial state and this number of RUNNING tasks; None does not wait."""
        name = self.name(short)
        body = {"name": name, "config": config, **({"initial_state": state} if state else {})}
        response = self.request(label or f"create {short}", "POST", "/connectors", body)
        if tasks is not None and response.status_code == 201:
            expected = state or "RUNNING"
            self.wait_state(name, expected, ["RUNNING"] * tasks if expected == "RUNNING" else [])
        return name

    def put(self, name: str, verb: str, label: str = "") -> None:
        """Sends pause, resume or stop."""
        self.request(label or verb, "PUT", f"/connectors/{name}/{verb}")

    def pause(self, name: str, tasks: Sequence[str] = ("PAUSED",)) -> None:
        self.put(name, "pause")
        self.wait_state(name, "PAUSED", tasks)

    def stop(self, name: str) -> None:
        self.put(name, "stop")
        self.wait_state(name, "STOPPED", [])

    def resume(self, name: str, tasks: int = 1) -> None:
        self.put(name, "resume")
        self.wait_running(name, tasks)

    # Kafka and files

    def topic(self, short: str, partitions: int = 1) -> str:
        self.kafka.create_topic(self.name(short), partitions)
        return self.name(short)

    def produce(self, topic: str, messages: Iterable[Produced], partition: int | None = None) -> None:
        self.kafka.produce(topic, messages, partition)

    def fetch(self, topic: str, count: int, seconds: float | None = None, extra: float = 0.3) -> list[Message]:
        return self.kafka.fetch(topic, count, seconds or self.target.wait, extra)

    def records(self, label: str, topic: str, count: int, extra: float = 0.3) -> None:
        """Records the content of a topic, which has this many messages."""
        messages = self.fetch(topic, count, extra=extra)
        data = [
            {
                "key": decoded(message.key()),
                "value": decoded(message.value()),
                "headers": [[key, decoded(value)] for key, value in headers_of(message)],
            }
            for message in messages
        ]
        name = self.normalize.text(topic)
        self.record(label, kind="topic", topic=name, count=len(data), data=self.normalize(data))

    def lines(self, label: str, short: str, count: int, in_order: bool = True) -> None:
        """Records the lines that a sink has written, which are this many."""
        file = self.folder / short

        def read() -> list[str]:
            return file.read_text("utf-8", errors="replace").splitlines() if file.exists() else []

        poll(read, lambda found: len(found) >= count, self.target.wait)
        time.sleep(0.3)  # more lines than these would be a difference
        lines = [with_sorted_entries(line) for line in read()]
        lines = lines if in_order else sorted(lines)
        self.record(label, kind="file", file=short, count=len(lines), data=self.normalize(lines))

    def group(self, label: str, group: str, wanted: list[list[Any]] | None = None) -> None:
        """Records the committed offsets of a group, once they are the wanted ones."""

        def done(found: Any) -> bool:
            return wanted is None or found == sorted(wanted)

        found = poll(lambda: self.kafka.committed(group), done, self.target.wait, every=0.2)
        self.record(label, kind="group", group=self.normalize.text(group), data=self.normalize(found))


def headers_of(message: Message) -> list[tuple[str, bytes | None]]:
    headers: Any = message.headers()
    return list(headers or [])


def decoded_body(response: httpx.Response) -> Any:
    if not response.content:
        return None
    try:
        return response.json()
    except ValueError:
        is_html = "html" in response.headers.get("content-type", "")
        return {"_text": "<not JSON>" if is_html else response.text}


def keys(more: Mapping[str, Any]) -> Config:
    """Keyword arguments as keys of a configuration."""
    return {name.replace("__", "."): value for name, value in more.items()}
