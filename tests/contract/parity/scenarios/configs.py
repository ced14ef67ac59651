"""Reading and changing configurations, tasks, and requests about connectors that do not exist."""

from __future__ import annotations

from typing import Any

from tests.contract.parity.recorder import Recorder
from tests.contract.parity.registry import scenario


@scenario("rest")
def put_config(c: Recorder) -> None:
    config, name = c.source("a", c.topic("t"), ["one"]), c.name("a")
    at = f"/connectors/{name}/config"

    def put(label: str, **changes: Any) -> None:
        c.request(label, "PUT", at, {**config, **{key.replace("__", "."): value for key, value in changes.items()}})
        c.wait_running(name)

    def applied(tasks: Any) -> bool:
        return any(task["config"].get("batch.size") == "10" for task in tasks)

    put("PUT creates")
    put("PUT same again")
    c.request("PUT updates", "PUT", at, {**config, "batch.size": "10", "own.key": "kept"})
    c.wait_json("wait config applied", f"/connectors/{name}/tasks", applied, lambda _: None)
    c.wait_running(name)
    c.get("GET config", at)
    c.get("GET tasks", f"/connectors/{name}/tasks")
    c.request("name mismatch", "PUT", at, {**config, "name": "other"})
    put("name in body", name=name)
    c.get("keys not in the body are gone", at)
    c.request("invalid", "PUT", at, {key: value for key, value in config.items() if key != "topic"})
    c.request("empty object", "PUT", at, {})
    put("null value", x=None)
    c.get("null value kept?", at)
    put("number and boolean values", tasks__max=1, own__bool=True, own__float=1.5)
    c.get("numbers became strings", at)
    c.raw_requests("PUT", at, [("bad JSON", "{"), ("array", "[]")])
    c.request("object value", "PUT", at, {**config, "x": {}})
    c.request("empty body", "PUT", at, raw="")
    c.request("text/plain", "PUT", at, config, headers={"Content-Type": "text/plain"})


@scenario("rest")
def patch_config(c: Recorder) -> None:
    name = c.create("a", {**c.source("a", c.name("t"), []), "a": "1", "b": "2"})
    at = f"/connectors/{name}/config"
    c.request("PATCH", "PATCH", at, {"a": "10", "b": None, "c": "3"})
    c.wait_running(name)
    c.get("GET config", at)
    c.requests("PATCH", at, [
        ("empty patch", {}), ("remove absent key", {"zzz": None}), ("remove required key", {"topic": None}),
        ("invalid value", {"tasks.max": "x"}),
    ])  # fmt: skip
    c.wait_running(name)
    c.get("unchanged", at)
    c.request("same name", "PATCH", at, {"name": name})
    c.wait_running(name)
    c.request("missing connector", "PATCH", f"/connectors/{c.name('none')}/config", {"a": "1"})
    c.raw_requests("PATCH", at, [("bad JSON", "{"), ("array", "[]")])


@scenario("rest")
def missing_connector(c: Recorder) -> None:
    at = f"/connectors/{c.name('none')}"
    for path in ("", "/config", "/status", "/tasks", "/tasks-config", "/tasks/0/status", "/topics", "/offsets"):
        c.get(f"GET {path or '(info)'}", at + path)
    for path in ("pause", "resume", "stop", "topics/reset"):
        c.request(f"PUT {path}", "PUT", f"{at}/{path}")
    c.request("DELETE", "DELETE", at)
    for label, path in (
        ("restart", "restart"), ("restart?includeTasks", "restart?includeTasks=true"),
        ("restart?onlyFailed", "restart?onlyFailed=true&includeTasks=true"), ("restart task", "tasks/0/restart"),
    ):  # fmt: skip
        c.request(label, "POST", f"{at}/{path}")
    offsets = [{"partition": {"filename": "x"}, "offset": {"position": 1}}]
    c.request("PATCH offsets", "PATCH", f"{at}/offsets", {"offsets": offsets})
    c.request("DELETE offsets", "DELETE", f"{at}/offsets")


@scenario("rest")
def list_expand(c: Recorder) -> None:
    c.create("a", c.source("a", c.name("t"), []))
    c.create("b", c.sink("b", c.name("t")), state="STOPPED")

    def own(body: dict[str, Any]) -> dict[str, Any]:
        return {name: body[name] for name in c.own(body)}

    for label, query in (
        ("expand=status", "expand=status"), ("expand=info", "expand=info"), ("both", "expand=status&expand=info"),
        ("unknown expansion", "expand=foo"), ("empty expansion", "expand="),
        ("comma is not split", "expand=status,info"),
    ):  # fmt: skip
        c.get(label, f"/connectors?{query}", project=own)
    c.get("other parameters ignored", "/connectors?foo=bar", project=lambda body: sorted(c.own(body)))


@scenario("rest")
def tasks(c: Recorder) -> None:
    name = c.create("k", {**c.sink("k", c.topic("t", 2)), "tasks.max": "2"}, tasks=2)
    c.gets(f"/connectors/{name}", [
        ("tasks", "/tasks"), ("tasks-config", "/tasks-config"), ("info", ""), ("status", "/status"),
        ("task 1", "/tasks/1/status"), ("task 2 is missing", "/tasks/2/status"), ("task abc", "/tasks/abc/status"),
        ("task -1", "/tasks/-1/status"), ("no such resource", "/tasks/0"), ("no such resource 2", "/tasks/0/config"),
    ])  # fmt: skip
    c.request("restart task 7", "POST", f"/connectors/{name}/tasks/7/restart")
    c.request("restart task abc", "POST", f"/connectors/{name}/tasks/abc/restart")


@scenario("rest")
def exactly_once_config(c: Recorder) -> None:
    config = c.source("a", c.name("t"), [])
    required, boundary = {"exactly.once.support": "required"}, "transaction.boundary"
    interval = {boundary: "interval", f"{boundary}.interval.ms": "500"}
    without_file = {key: value for key, value in config.items() if key != "file"}
    for label, short, own in (
        ("required", "r", {**config, **required}),
        ("required but reading stdin", "z", {**without_file, **required}),
        ("boundary=connector", "z", {**config, boundary: "connector"}),
        ("boundary=interval", "i", {**config, **interval}),
        ("bad enums", "z", {**config, boundary: "moon", "exactly.once.support": "maybe"}),
    ):
        c.request(label, "POST", "/connectors", {"name": c.name(short), "config": own, "initial_state": "STOPPED"})
    topic = c.topic("t2")
    name = c.create("w", {**c.source("w", topic, ["1", "2"]), **interval})
    c.records("output with interval boundary", topic, 2)
    c.wait_offsets("offset", name, [{"partition": c.partition("w"), "offset": {"position": 4}}])
    own_topic = c.name("own-offsets")
    name = c.create("o", {**c.source("o", topic, ["3"]), "offsets.storage.topic": own_topic})
    offset = {"partition": c.partition("o"), "offset": {"position": 2}}
    c.wait_offsets("offset in a topic of its own", name, [offset])
    stored = [(message.key(), message.value()) for message in c.fetch(own_topic, 1)]
    data = [[key.decode(), value and value.decode()] for key, value in stored if key]
    c.record_as("storage", "records of that topic", data)
