"""Paths, methods, names and the creation of connectors."""

from __future__ import annotations

from functools import partial
from urllib.parse import quote

from tests.contract.parity.names import SOURCE, STRING
from tests.contract.parity.recorder import Recorder
from tests.contract.parity.registry import scenario


@scenario("rest")
def root(c: Recorder) -> None:
    c.get("GET /", "/")
    c.request("HEAD /", "HEAD", "/")
    c.request("OPTIONS /", "OPTIONS", "/")
    c.get("GET /health", "/health")
    c.request("POST / is not allowed", "POST", "/", {})


@scenario("rest")
def unknown_paths(c: Recorder) -> None:
    c.get("unknown path", "/nope")
    c.get("unknown sub path", "/connectors/a/b/c/d")
    c.get("trailing slash", "/connectors/", project=lambda body: type(body).__name__)
    c.request("PUT /connectors", "PUT", "/connectors", {})
    c.request("DELETE /connectors", "DELETE", "/connectors")
    c.request("PATCH /connectors", "PATCH", "/connectors", {})
    c.request("HEAD /connectors", "HEAD", "/connectors")
    for path in ("", "/x", "/x/config", "/x/offsets"):
        c.request(f"OPTIONS /connectors{path}", "OPTIONS", f"/connectors{path}")


@scenario("rest")
def create_basic(c: Recorder) -> None:
    topic = c.topic("t")
    config = c.source("a", topic, ["one", "two"])
    name = c.create("a", config, "POST")
    at = f"/connectors/{name}"
    c.gets(at, [("GET connector", ""), ("GET config", "/config"), ("GET status", "/status"), ("GET tasks", "/tasks")])
    c.get("GET task status", f"{at}/tasks/0/status")
    c.get("listed", "/connectors", project=c.own)
    c.records("topic content", topic, 2)
    c.request("POST again", "POST", "/connectors", {"name": name, "config": config}, retry=False)
    c.request("DELETE", "DELETE", at)
    c.wait_gone(name)
    c.request("DELETE again", "DELETE", at)
    c.gets(at, [("GET deleted", ""), ("GET deleted status", "/status")])
    c.get("no longer listed", "/connectors", project=c.own)


@scenario("rest")
def create_bad_body(c: Recorder) -> None:
    config, name = c.source("a", c.name("t"), []), c.name("a")
    c.raw_requests("POST", "/connectors", [
        ("bad JSON", "{bad"), ("truncated JSON", '{"name":"x"'), ("empty body", ""), ("array body", "[]"),
        ("string body", '"x"'), ("null body", "null"),
    ])  # fmt: skip
    c.requests("POST", "/connectors", [
        ("unknown field", {"name": name, "config": config, "surprise": 1}),
        ("config is a string", {"name": name, "config": "x"}),
        ("config is an array", {"name": name, "config": []}),
        ("config value is an object", {"name": name, "config": {**config, "x": {"a": 1}}}),
        ("config value is an array", {"name": name, "config": {**config, "x": ["a"]}}),
        ("name is an object", {"name": {}, "config": config}),
    ])  # fmt: skip
    for label, own, headers in (
        ("text/plain", config, {"Content-Type": "text/plain"}),
        ("charset parameter", {}, {"Content-Type": "application/json; charset=utf-8"}),
        ("accept text/plain", {}, {"Accept": "text/plain"}),
    ):
        c.request(label, "POST", "/connectors", {"name": name, "config": own}, headers=headers)
    c.get("nothing was created", "/connectors", project=c.own)


@scenario("rest")
def create_names_missing(c: Recorder) -> None:
    config, name = c.source("a", c.name("t"), []), c.name("a")
    c.requests("POST", "/connectors", [
        ("no name", {"config": config}),
        ("null name", {"name": None, "config": config}),
        ("empty name", {"name": "", "config": config}),
        ("blank name", {"name": "  ", "config": config}),
        ("control character within", {"name": c.name("x") + "\u0007y", "config": config}),
        ("control character at the end is trimmed", {"name": c.name("z") + "\u0007", "config": config}),
        ("no config", {"name": name}),
        ("null config", {"name": name, "config": None}),
        ("empty config", {"name": name, "config": {}}),
        ("name in config differs", {"name": name, "config": {**config, "name": c.name("b")}}),
        ("empty object", {}),
    ])  # fmt: skip


@scenario("rest")
def create_invalid_config(c: Recorder) -> None:
    config = c.source("a", c.name("t"), [])
    for label, changes in (
        ("no connector.class", {"connector.class": ...}),
        ("null connector.class", {"connector.class": None}),
        ("empty connector.class", {"connector.class": ""}),
        ("unknown class", {"connector.class": "com.example.Nope"}),
        ("class is no connector", {"connector.class": STRING}),
        ("source without topic", {"topic": ...}),
        ("tasks.max=0", {"tasks.max": "0"}),
        ("tasks.max=abc", {"tasks.max": "abc"}),
        ("tasks.max=-1 and no topic", {"tasks.max": "-1", "topic": ...}),
        ("unknown key.converter", {"key.converter": "com.example.Nope"}),
        ("value.converter no converter", {"value.converter": SOURCE}),
        ("header.converter no converter", {"header.converter": "com.example.Nope"}),
        ("errors.tolerance=some", {"errors.tolerance": "some"}),
        ("errors.retry.timeout=x", {"errors.retry.timeout": "x"}),
        ("batch.size=x", {"batch.size": "x"}),
        ("config.action.reload=maybe", {"config.action.reload": "maybe"}),
    ):
        changed = {key: value for key, value in {**config, **changes}.items() if value is not ...}
        c.request(label, "POST", "/connectors", {"name": c.name("a"), "config": changed})
    c.get("nothing was created", "/connectors", project=c.own)


def _named(name: str, connectors: list[str]) -> list[str]:
    return [connector for connector in connectors if connector == name]


@scenario("rest")
def odd_names(c: Recorder) -> None:
    def stopped(label: str, name: str) -> None:
        body = {"name": name, "config": c.source("f", c.name("t"), []), "initial_state": "STOPPED"}
        c.request(f"{label}: POST", "POST", "/connectors", body)

    for short, name in (("space", c.name("a b")), ("unicode", c.name("grün-日本")), ("plus", c.name("a+b"))):
        at = f"/connectors/{quote(name, safe='')}"
        stopped(short, name)
        c.wait_state(name, "STOPPED", [])
        c.gets(at, [(f"{short}: GET", ""), (f"{short}: status", "/status"), (f"{short}: offsets", "/offsets")])
        c.get(f"{short}: listed", "/connectors", project=partial(_named, name))
        c.request(f"{short}: DELETE", "DELETE", at)
    stopped("name with blanks around", f"  {c.name('trim')} ")
    c.get("name with blanks around: GET", f"/connectors/{c.name('trim')}")


@scenario("rest")
def initial_state(c: Recorder) -> None:
    config = c.source("f", c.name("t"), ["x"])

    def create(label: str, short: str, state: object) -> str:
        body = {"name": c.name(short), "config": config, "initial_state": state}
        c.request(label, "POST", "/connectors", body)
        return c.name(short)

    for state in ("STOPPED", "PAUSED", "RUNNING"):
        name = c.create(state.lower(), config, f"create {state}", state=state)
        c.gets(f"/connectors/{name}", [(f"{state}: info", ""), (f"{state}: tasks", "/tasks")])
    c.wait_state(create("lower case", "lower", "stopped"), "STOPPED", [])
    for label, refused in (("invalid", "ASLEEP"), ("not a string", 3), ("empty", "")):
        create(label, "bad", refused)
    c.wait_running(create("null", "null", None))
    c.resume(c.name("stopped"))
    c.get("STOPPED then resumed: info", f"/connectors/{c.name('stopped')}")
    c.resume(c.name("paused"))
