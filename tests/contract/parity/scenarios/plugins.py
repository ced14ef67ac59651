"""Plugins, their definitions, and validation."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import quote

from tests.contract.parity.names import CONVERTERS, JSON, PREDICATES, SINK, SOURCE, STRING, TRANSFORMS
from tests.contract.parity.recorder import Config, Recorder, decoded_body
from tests.contract.parity.registry import scenario

_HEADER_CONVERTER = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
_KNOWN = {SOURCE, SINK, JSON, STRING, _HEADER_CONVERTER}
_TRANSFORMS = (
    *("Cast$Value", "DropHeaders", "ExtractField$Key", "Filter", "Flatten$Value", "HeaderFrom$Value"),
    *("HoistField$Value", "InsertField$Value", "InsertHeader", "MaskField$Value", "RegexRouter", "ReplaceField$Value"),
    *("SetSchemaMetadata$Value", "TimestampConverter$Value", "TimestampRouter", "ValueToKey"),
)


@scenario("rest")
def plugins(c: Recorder) -> None:
    def known(body: Any) -> list[Any]:
        return [x for x in body if x["class"] in _KNOWN or x["class"].startswith((TRANSFORMS, CONVERTERS))]

    def of_type(kind: str, body: Any) -> list[Any]:
        return [x for x in known(body) if x["type"] == kind]

    everything = "/connector-plugins?connectorsOnly=false"
    c.get("connectors", "/connector-plugins", project=known)
    c.get("connectorsOnly=true", "/connector-plugins?connectorsOnly=true", project=known)
    for kind in ("source", "sink", "transformation", "predicate", "converter", "header_converter"):
        c.get(f"all: {kind}", everything, project=partial(of_type, kind))
    c.get("order of the types", everything, project=lambda body: list(dict.fromkeys(x["type"] for x in body)))


@scenario("rest")
def plugin_config_connectors(c: Recorder) -> None:
    for plugin in ("FileStreamSource", "FileStreamSourceConnector", SOURCE, "FileStreamSink", SINK):
        c.get(plugin, f"/connector-plugins/{plugin}/config")
    c.get("unknown plugin", "/connector-plugins/Nope/config")
    c.get("no such resource", f"/connector-plugins/{SOURCE}")
    c.get("JsonConverter", f"/connector-plugins/{JSON}/config")
    c.get("StringConverter", f"/connector-plugins/{STRING}/config")
    c.get("HasHeaderKey", f"/connector-plugins/{PREDICATES}HasHeaderKey/config")


@scenario("rest")
def plugin_config_smts(c: Recorder) -> None:
    for prefix, names in (
        (TRANSFORMS, _TRANSFORMS),
        (PREDICATES, ("TopicNameMatches", "RecordIsTombstone")),
        (CONVERTERS, ("LongConverter", "ByteArrayConverter", "BooleanConverter")),
    ):
        for name in names:
            c.get(name, f"/connector-plugins/{prefix}{quote(name)}/config")
    c.get("SimpleHeaderConverter", f"/connector-plugins/{_HEADER_CONVERTER}/config")
    c.get("alias of a transform", "/connector-plugins/RegexRouter/config")
    c.get("alias of a converter", "/connector-plugins/JsonConverter/config")


def validate(c: Recorder, label: str, plugin: str, config: Config, full: bool = False) -> None:
    """One request, several steps: status and counts; errors; values, or, if `full`, names and definitions."""
    response = c.call("PUT", f"/connector-plugins/{quote(plugin)}/config/validate", body=config)
    body = decoded_body(response)
    ok = response.status_code == 200
    c.record(
        label, kind="http", method="PUT", path=f"/connector-plugins/{plugin}/config/validate",
        status=response.status_code, headers={}, request=c.normalize(config),
        body=c.normalize({key: value for key, value in body.items() if key != "configs"} if ok else body),
    )  # fmt: skip
    if not ok:
        return
    values = {found["value"]["name"]: found["value"] for found in body["configs"]}
    wrong = [{"name": name, "errors": value["errors"]} for name, value in sorted(values.items()) if value["errors"]]
    c.record_as("derived", f"{label} # errors", wrong)
    if not full:
        shown = {name: {k: v for k, v in value.items() if k != "errors"} for name, value in values.items()}
        c.record_as("derived", f"{label} # values", shown)
        return
    c.record_as("derived", f"{label} # names", [found["definition"]["name"] for found in body["configs"]])
    for found in body["configs"]:
        c.record_as("derived", f"{label} # {found['definition']['name']}", found)


@scenario("rest")
def validate_source(c: Recorder) -> None:
    valid = {"connector.class": SOURCE, "name": c.name("a"), "topic": "t", "file": "/tmp/x", "tasks.max": "1"}
    alias = {"connector.class": "FileStreamSource"}
    validate(c, "valid", "FileStreamSource", valid, full=True)
    validate(c, "full name", SOURCE, valid)
    validate(c, "alias with suffix", "FileStreamSourceConnector", {**valid, **alias})
    validate(c, "only the class", "FileStreamSource", alias)
    validate(c, "unknown keys are not listed", "FileStreamSource", {**valid, "zzz": "1"})


@scenario("rest")
def validate_errors(c: Recorder) -> None:
    valid = {"connector.class": SOURCE, "name": c.name("a"), "topic": "t", "tasks.max": "1"}
    validate(c, "no class in body", "FileStreamSource", {"topic": "t"})
    validate(c, "empty body", "FileStreamSource", {})
    validate(c, "class differs from path", "FileStreamSink", valid)
    validate(c, "unknown class in path", "Nope", valid)
    validate(c, "unknown class in both", "Nope", {"connector.class": "Nope"})
    bad = {"connector.class": SOURCE, "tasks.max": "x", "name": ""}
    validate(c, "missing topic, bad tasks.max", SOURCE, bad)
    validate(c, "bad converter", SOURCE, {**valid, "value.converter": "com.example.Nope"})
    validate(c, "bad enum", SOURCE, {**valid, "errors.tolerance": "x", "config.action.reload": "y"})
    c.raw_requests("PUT", "/connector-plugins/FileStreamSource/config/validate", [("no JSON", "{"), ("no body", "")])


@scenario("admin")
def loggers(c: Recorder) -> None:
    logger = f"parity.{c.id}"
    at, child = f"/admin/loggers/{logger}", f"/admin/loggers/{logger}.child"

    def own(body: dict[str, Any]) -> dict[str, Any]:
        shown = {name: level for name, level in body.items() if name == "root" or name.startswith(logger)}
        return {
            name: {
                "level": "<level>" if name == "root" else level["level"],
                "last_modified": "<null>" if level["last_modified"] is None else "<ts>",
            }
            for name, level in shown.items()
        }

    c.get("list", "/admin/loggers", project=own)
    c.get("unknown logger", at)
    c.request("set DEBUG", "PUT", at, {"level": "DEBUG"})
    c.get("get", at)
    c.request("set lower case", "PUT", at, {"level": "trace"})
    c.get("get 2", at)
    c.request("set child", "PUT", child, {"level": "ERROR"})
    c.request("set parent sets the child", "PUT", at, {"level": "WARN"})
    c.get("child", child)
    c.get("list again", "/admin/loggers", project=own)
    c.requests("PUT", at, [
        ("unknown level", {"level": "LOUD"}), ("no level", {}), ("null level", {"level": None}),
        ("other key", {"lvl": "INFO"}),
    ])  # fmt: skip
    c.request("bad JSON", "PUT", at, raw="{")
    c.request("OFF", "PUT", at, {"level": "OFF"})
