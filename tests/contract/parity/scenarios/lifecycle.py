"""Pause, stop, restart, topics, and tasks of running connectors."""

from __future__ import annotations

import json
import time

from tests.contract.parity.names import STRING_VALUES
from tests.contract.parity.recorder import Recorder
from tests.contract.parity.registry import scenario


@scenario("lifecycle")
def lifecycle_source(c: Recorder) -> None:
    topic = c.topic("t")
    name = c.create("a", c.source("a", topic, ["1", "2"]))
    at = f"/connectors/{name}"
    c.records("first lines", topic, 2)
    c.pause(name)
    c.get("info paused", at)
    c.write("a.txt", "3\n")
    c.put(name, "pause", "pause again")
    time.sleep(1.5)
    c.records("nothing while paused", topic, 2)
    c.resume(name)
    c.records("third line", topic, 3)
    c.put(name, "resume", "resume again")
    c.stop(name)
    c.gets(at, [
        ("info stopped", ""), ("tasks stopped", "/tasks"), ("tasks-config stopped", "/tasks-config"),
        ("task status stopped", "/tasks/0/status"),
    ])  # fmt: skip
    c.put(name, "stop", "stop again")
    c.put(name, "pause", "pause stopped")
    c.wait_state(name, "PAUSED")
    c.get("status after stop, pause", f"{at}/status")
    c.resume(name)
    c.stop(name)
    c.resume(name)
    c.write("a.txt", "4\n")
    c.records("fourth line", topic, 4)
    c.request("delete running", "DELETE", at)
    c.wait_gone(name)


@scenario("lifecycle")
def lifecycle_sink(c: Recorder) -> None:
    topic = c.topic("t")
    c.produce(topic, ['"a"', '"b"'])
    name = c.create("k", c.sink("k", topic))
    c.lines("first", "k.out", 2)
    c.pause(name)
    c.produce(topic, ['"c"'])
    time.sleep(1.5)
    c.lines("nothing while paused", "k.out", 2)
    c.resume(name)
    c.lines("third", "k.out", 3)
    c.stop(name)
    c.group("group after stop", f"connect-{name}", [[topic, 0, 3]])
    c.produce(topic, ['"d"'])
    c.resume(name)
    c.lines("fourth", "k.out", 4)
    c.request("delete", "DELETE", f"/connectors/{name}")
    c.wait_gone(name)
    c.group("group outlives the connector", f"connect-{name}", [[topic, 0, 4]])


@scenario("lifecycle")
def restart_connector(c: Recorder) -> None:
    name = c.create("a", c.source("a", c.name("t"), []))
    at = f"/connectors/{name}"

    def restart(label: str, path: str) -> None:
        c.request(label, "POST", f"{at}/{path}")
        c.settle(name, "RUNNING", ["RUNNING"])

    restart("restart", "restart")
    restart("includeTasks=false&onlyFailed=false", "restart?includeTasks=false&onlyFailed=false")
    restart("includeTasks=true", "restart?includeTasks=true")
    restart("onlyFailed=true", "restart?onlyFailed=true")
    c.request("both", "POST", f"{at}/restart?includeTasks=true&onlyFailed=true")
    restart("includeTasks=maybe", "restart?includeTasks=maybe")
    restart("restart task", "tasks/0/restart")
    c.request("restart missing task", "POST", f"{at}/tasks/1/restart")
    c.request("with a body", "POST", f"{at}/restart", {})


@scenario("lifecycle")
def restart_failed(c: Recorder) -> None:
    topic = c.topic("t")
    c.produce(topic, ["{not json"])
    name = c.create("k", c.sink("k", topic), tasks=None)
    at = f"/connectors/{name}"
    c.wait_state(name, "RUNNING", ["FAILED"])
    c.gets(at, [("status", "/status"), ("task status", "/tasks/0/status")])
    c.request("onlyFailed, includeTasks", "POST", f"{at}/restart?includeTasks=true&onlyFailed=true")
    c.settle(name, "RUNNING", ["FAILED"])
    c.put(name, "pause", "pause with a failed task")
    c.wait_state(name, "PAUSED", ["FAILED"])
    c.put(name, "resume", "resume with a failed task")
    c.wait_state(name, "RUNNING", ["FAILED"])
    c.request("fix the config", "PATCH", f"{at}/config", STRING_VALUES)
    c.wait_running(name)
    c.lines("output", "k.out", 1)


@scenario("lifecycle")
def topics(c: Recorder) -> None:
    topic, other = c.topic("t"), c.topic("u")
    name = c.create("a", c.source("a", topic, ["1"]))
    at = f"/connectors/{name}/topics"

    def names(body: dict[str, dict[str, list[str]]]) -> list[str]:
        (entry,) = body.values()
        return sorted(entry["topics"])

    def wait(label: str, connector: str, count: int, in_order: bool = False) -> None:
        c.wait_json(
            label, f"/connectors/{connector}/topics", lambda body: len(names(body)) == count,
            lambda body: {connector: {"topics": names(body)}} if in_order else body,
        )  # fmt: skip

    c.records("content", topic, 1)
    wait("wait topics", name, 1)
    c.get("topics", at)
    c.request("reset", "PUT", f"{at}/reset")
    wait("wait empty", name, 0)
    c.write("a.txt", "2\n")
    c.records("content 2", topic, 2)
    wait("topic is back after new records", name, 1)
    c.request("now to another topic", "PATCH", f"/connectors/{name}/config", {"topic": other})
    c.wait_json(
        "wait applied", f"/connectors/{name}/tasks",
        lambda tasks: any(task["config"].get("topic") == other for task in tasks), lambda _: None,
    )  # fmt: skip
    c.settle(name, "RUNNING", ["RUNNING"])
    c.write("a.txt", "3\n")
    c.records("content u", other, 1)
    wait("both topics", name, 2, in_order=True)
    sink = c.create("k", c.sink("k", f"{topic},{other}"))
    c.lines("sink lines", "k.out", 3, in_order=False)
    wait("topics of the sink", sink, 2, in_order=True)
    c.stop(sink)
    c.get("topics of stopped sink", f"/connectors/{sink}/topics", project=lambda body: {sink: names(body)})
    new = c.create("n", c.source("n", topic, []), state="STOPPED")
    c.get("topics of a new one", f"/connectors/{new}/topics")


@scenario("lifecycle")
def sink_tasks(c: Recorder) -> None:
    topic = c.topic("t", 4)
    for partition in range(4):
        c.produce(topic, [f'"p{partition}-{number}"' for number in range(3)], partition)
    name = c.create("k", {**c.sink("k", topic), "tasks.max": "3"}, tasks=3)
    c.lines("all partitions", "k.out", 12, in_order=False)
    c.stop(name)
    c.group("group", f"connect-{name}", [[topic, partition, 3] for partition in range(4)])
    c.get("offsets", f"/connectors/{name}/offsets")
    source = c.create("s", {**c.source("s", topic, []), "tasks.max": "5"})
    c.get("file source has one task", f"/connectors/{source}/tasks")


@scenario("lifecycle")
def sink_topics_regex(c: Recorder) -> None:
    for topic in [c.topic("re-a"), c.topic("re-b"), c.topic("other")]:
        c.produce(topic, [json.dumps("from " + topic.removeprefix(c.id))])
    name = c.create("k", {**c.sink("k", None), "topics.regex": c.id + "-re-.*"})
    c.lines("two of three topics", "k.out", 2, in_order=False)
    c.get("tasks", f"/connectors/{name}/tasks")
    c.stop(name)
    c.get("offsets", f"/connectors/{name}/offsets")


@scenario("lifecycle")
def class_aliases(c: Recorder) -> None:
    topic = c.topic("t")
    for alias in ("FileStreamSource", "FileStreamSourceConnector"):
        name = c.create(alias, {**c.source(alias, topic, [alias]), "connector.class": alias})
        c.get(f"{alias} tasks", f"/connectors/{name}/tasks")
    c.create("k", {**c.sink("k", topic), "connector.class": "FileStreamSink"})
    c.lines("sink lines", "k.out", 2, in_order=False)
    config = {**c.source("z", topic), "connector.class": "filestreamsource"}
    c.request("wrong case", "POST", "/connectors", {"name": c.name("z"), "config": config})


@scenario("lifecycle")
def file_appears_later(c: Recorder) -> None:
    topic = c.topic("t")
    name = c.create("a", c.source("a", topic))
    c.get("offsets without file", f"/connectors/{name}/offsets")
    c.write("a.txt", "full line\nhalf")
    c.records("only the full line", topic, 1)
    c.write("a.txt", " line\r\nlast\r\n\nend\n")
    c.records("the rest", topic, 5)
    c.wait_offsets("offset", name, [{"partition": c.partition(), "offset": {"position": 32}}])
