"""Unusual requests, recorded in reference-corners.json. Every connector stays STOPPED, so that a replay takes a few
seconds."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tests.contract.parity.names import CONVERTERS, JSON, PREDICATES, SINK, SOURCE, STRING, TRANSFORMS, sink_offset
from tests.contract.parity.recorder import Config, Recorder
from tests.contract.parity.registry import scenario
from tests.contract.parity.scenarios.offsets import alter

VALIDATE = "/connector-plugins/{}/config/validate"
HEADER_CONVERTER = "org.apache.kafka.connect.storage.HeaderConverter"


def stopped(c: Recorder, short: str, config: Config) -> str:
    name = c.name(short)
    c.call("POST", "/connectors", body={"name": name, "config": config, "initial_state": "STOPPED"})
    c.call("GET", f"/connectors/{name}/status")
    return name


def findings(body: dict[str, Any]) -> dict[str, Any]:
    """The results of a validation for each key, without the definitions."""
    values = [found["value"] for found in body["configs"]]
    found = [[v["name"], v["value"], v["errors"], v["visible"], len(v["recommended_values"])] for v in values]
    return {**{key: body[key] for key in ("name", "error_count", "groups")}, "keys": found}


def validate_and_create(c: Recorder, label: str, config: Config) -> None:
    plugin, name = config.get("connector.class", SOURCE), c.name("z")
    at = VALIDATE.format(quote(plugin))
    c.request(f"validate: {label}", "PUT", at, {**config, "name": "n"}, project=findings)
    body = {"name": name, "config": config, "initial_state": "STOPPED"}
    c.request(f"create: {label}", "POST", "/connectors", body, retry=False)
    c.call("DELETE", f"/connectors/{name}")


@scenario("rest")
def bodies(c: Recorder) -> None:
    name = stopped(c, "a", c.source("a", c.name("t"), []))
    config, loggers = f"/connectors/{name}/config", f"/admin/loggers/{c.name('l')}"
    contents: list[tuple[str, str | bytes]] = [
        ("surrogate", b'{"a":"\xed\xa0\x80"}'), ("latin 1", b'{"a":"gr\xfcn"}'), ("truncated", b'{"a":"\xe2\x82"}'),
        ("utf-16", '{"a":"x"}'.encode("utf-16")), ("utf-32", '{"a":"x"}'.encode("utf-32-le")),
        ("byte order mark", b'\xef\xbb\xbf{"a":"b"}'), ("two values", b'{"a":"1"} {"b":"2"}'),
        ("comma at the end", b'{"a":"1",}'), ("comment", b'/* */ {"a":"1"}'), ("leading zero", b'{"a":01}'),
        ("control character", b'{"a":"x\ny"}'), ("NUL", b"\0"),
    ]  # fmt: skip
    for label, raw in contents:
        c.request(f"{label}: PATCH", "PATCH", config, raw=raw)
        c.request(f"{label}: logger", "PUT", loggers, raw=raw)
    for label, value in (
        ("exponent", "1e3"), ("long", "123456789012345678901234567890"), ("negative zero", "-0"),
        ("fraction", "1.50E+2"), ("escape", '"\\u00fc\\/\\ud83d\\ude00"'), ("empty", '""'),
    ):  # fmt: skip
        c.request(f"value {label}", "PATCH", config, raw=f'{{"own":{value}}}')
    short = c.name("s")
    own = f'{{"connector.class":"{SOURCE}","topic":"t","file":"{c.file("none")}"}}'
    for state in ("null", '" STOPPED "', "true", "[]", '"STARTED"', '"Stopped"'):
        body = f'{{"name":"{short}","initial_state":{state},"config":{own}}}'
        c.request(f"initial_state {state}", "POST", "/connectors", raw=body)
        c.call("DELETE", f"/connectors/{short}")
    levels = ('""', '" "', '" debug "', "5", "true", "null", "{}", '"WARNING"', '"ALL"')
    c.raw_requests("PUT", loggers, [(f"level {level}", f'{{"level":{level}}}') for level in levels])


@scenario("rest")
def paths(c: Recorder) -> None:
    for label, odd in (
        ("quotes", "a\"b'c"), ("query", "a?b#c&d=e"), ("emoji", "😀"), ("combining", "u\u0308"),
        ("brackets", "[a]<b>|^`~"), ("no-break space", "a\u00a0b"), ("C1 control", "a\u0085b"), ("DEL", "a\x7fb"),
        ("long", "x" * 900),
    ):  # fmt: skip
        name = c.name(odd)
        at = "/connectors/" + quote(name, safe="")
        body = {"name": name, "config": c.source("f", c.name("t"), []), "initial_state": "STOPPED"}
        if c.request(f"{label}: create", "POST", "/connectors", body).status_code == 201:
            c.get(f"{label}: config", f"{at}/config")
            c.request(f"{label}: delete", "DELETE", at)
    none = f"/connectors/{c.name('none')}"
    for path in (
        *("/tasks/0x0/status", "/tasks/00/status", "/tasks/+0/status", "/tasks/2147483648/status"),
        *("/tasks/1.0/status", "/status/", "/status;v=1", "/tasks/0", "/tasks/0/pause", "/config/validate"),
    ):
        c.get(path, none + path)
    own = stopped(c, "a", c.source("a", c.name("t"), []))
    for task in ("-1", "0", "7", "x"):
        c.request(f"restart task {task}", "POST", f"/connectors/{own}/tasks/{task}/restart")
        c.request(f"restart task {task} of none", "POST", f"{none}/tasks/{task}/restart")
    config = {"connector.class": SOURCE, "topic": "t", "name": "n"}
    for plugin in (
        *("Connector", "FileStream", "filestreamsource", "FileStreamSourceConnector"),
        *("%46ileStreamSource", "JsonConverter"),
    ):
        label, at = f"validate {plugin}", VALIDATE.format(plugin)
        c.request(label, "PUT", at, config, project=lambda body: body["error_count"])
    for query in ("expand=status&expand=status", "expand=STATUS", "expand=info&expand=", "expand", "expand=tasks"):
        c.get(query, f"/connectors?{query}", lambda body: body.get(own) if isinstance(body, dict) else own in body)


@scenario("rest")
def validation(c: Recorder) -> None:
    source = {"connector.class": SOURCE, "topic": c.name("t"), "file": c.file("none")}
    sink = {"connector.class": SINK, "topics": c.name("t")}
    for key, value in (
        ("tasks.max", " 3 "), ("tasks.max", "1e3"), ("tasks.max.enforce", "yes"), ("errors.retry.timeout", "-2"),
        ("errors.tolerance", "ALL"), ("config.action.reload", "NONE"), ("batch.size", "0"), ("topic", ""),
        ("transaction.boundary.interval.ms", "0"), ("offsets.storage.topic", ""), ("topic.creation.groups", "a,a"),
        ("topic.creation.groups", ","), ("value.converter", ""), ("value.converter", "java.lang.String"),
        ("value.converter", CONVERTERS + "NumberConverter"), ("value.converter", SOURCE),
        ("header.converter", HEADER_CONVERTER), ("value.converter.plugin.version", "9"),
        ("value.converter.plugin.version", "["), ("connector.plugin.version", "["),
        ("connector.plugin.version", "[4.0,5.0)"), ("transforms", " a , b "), ("transforms", "a,a"),
        ("predicates", "p,p"), ("tasks.max", None), ("own", None), ("value.converter", None),
    ):  # fmt: skip
        validate_and_create(c, f"{key}={value}", {**source, key: value})
    given = {**source, "value.converter": JSON, "value.converter.plugin.version": "["}
    validate_and_create(c, "a version range of a given converter", given)
    for key, value in (
        ("topics", " a , b "), ("topics", "a,a"), ("topics", ","), ("topics.regex", "a.*"),
        ("errors.deadletterqueue.topic.replication.factor", "0"), ("consumer.override.group.id", "g"),
        ("exactly.once.support", "required"),
    ):  # fmt: skip
        validate_and_create(c, f"{key}={value}", {**sink, key: value})
    hoist = {"transforms": "a", "transforms.a.type": TRANSFORMS + "HoistField$Value", "transforms.a.field": "f"}
    bad_pattern = {"predicates.p.type": PREDICATES + "TopicNameMatches", "predicates.p.pattern": "["}
    chains: tuple[tuple[str, dict[str, str | None]], ...] = (
        ("no type", {"transforms.a.type": None}),
        ("type of a converter", {"transforms.a.type": STRING}),
        ("negate alone", {"transforms.a.negate": "false"}),
        ("negate is no boolean", {"transforms.a.negate": "x", "transforms.a.predicate": "p"}),
        ("unknown version", {"transforms.a.plugin.version": "9"}),
        ("predicate without its key", {"predicates": "p", "predicates.p.type": PREDICATES + "HasHeaderKey"}),
        ("bad pattern", {"predicates": "p", **bad_pattern}),
    )
    for label, changes in chains:
        config: dict[str, str | None] = {**source, **hoist, **changes}
        validate_and_create(c, label, {key: value for key, value in config.items() if value is not None})
    for label, kind, own in (
        ("cast", "Cast$Value", {"spec": "a:int8,b:x"}),
        ("two casts", "Cast$Value", {"spec": "int8,int16"}),
        ("renames", "ReplaceField$Value", {"renames": "a:b:c"}),
        ("precision", "TimestampConverter$Value", {"target.type": "unix", "unix.precision": "hours"}),
        ("header operation", "HeaderFrom$Value", {"fields": "a", "headers": "b", "operation": "x"}),
        ("header numbers", "HeaderFrom$Value", {"fields": "a,b", "headers": "b", "operation": "copy"}),
        ("syntax", "ExtractField$Value", {"field": "a", "field.syntax.version": "V3"}),
        ("regex", "RegexRouter", {"regex": "(", "replacement": "x"}),
    ):
        transform = {"transforms": "a", "transforms.a.type": TRANSFORMS + kind}
        transform |= {f"transforms.a.{key}": value for key, value in own.items()}
        validate_and_create(c, label, {**source, **transform})


@scenario("offsets")
def offsets(c: Recorder) -> None:
    source = stopped(c, "a", c.source("a", c.name("t"), []))
    at = f"/connectors/{source}/offsets"
    for label, partition, offset in (
        ("float", {"filename": "x"}, {"position": 1.0}),
        ("largest", {"filename": "x"}, {"position": 2**63 - 1}),
        ("too large", {"filename": "x"}, {"position": 2**63}),
        ("number as name", {"filename": 5}, {"position": 1}),
        ("null as name", {"filename": None}, {"position": 1}),
        ("list in offset", {"filename": "x"}, {"position": 1, "a": [1]}),
        ("reset of a bad partition", {"zz": 1}, None),
        ("all null", None, None),
        ("extra keys", {"filename": "e", "ü": "日本", "n": None, "f": 1.5}, {"position": 1, "b": True}),
    ):
        alter(c, f"source: {label}", source, {"partition": partition, "offset": offset})
    for raw in (
        *('{"offsets":"x"}', '{"offsets":[[]]}', '{"offsets":[{}]}'),
        *('{"offsets":[{"partition":"","offset":{}}]}', "null", '{"Offsets":[]}'),
    ):
        c.request(f"source: {raw}", "PATCH", at, raw=raw)
    c.get("source: offsets", at)
    c.request("source: reset", "DELETE", at, {"a": 1})
    c.get("source: none left", at)
    topic = c.topic("t", 2)
    sink = stopped(c, "k", c.sink("k", topic))
    for label, *entries in (
        ("first offset", sink_offset(topic, 0, 3)),
        ("padded", sink_offset(topic, " 0 ", 1)),
        ("zeros before", sink_offset(topic, "01", "01")),
        ("plus", sink_offset(topic, 0, "+1")),
        ("boolean", sink_offset(topic, True, 1)),
        ("fraction", sink_offset(topic, 0, 2.0)),
        ("Arabic digit", sink_offset(topic, 0, "١")),
        ("topic is a number", sink_offset(5, 0, 1)),
        ("same twice", sink_offset(topic, 0, 2), sink_offset(topic, "0", 1)),
        ("null of a missing topic", sink_offset(c.name("no"), 0, None)),
        ("good and missing", sink_offset(topic, 1, 1), sink_offset(c.name("no"), 0, 0)),
        ("good and null", sink_offset(topic, 1, 2), sink_offset(topic, 0, None)),
    ):
        alter(c, f"sink: {label}", sink, *entries)
        c.group(f"sink: {label}, group", f"connect-{sink}")


@scenario("rest")
def definitions_of_other_classes(c: Recorder) -> None:
    policy = "org.apache.kafka.connect.connector.policy.AllConnectorClientConfigOverridePolicy"
    for name in (
        *("org.apache.kafka.common.config.provider.FileConfigProvider", "FileConfigProvider", "File", policy, "None"),
        *("java.lang.String", f"{TRANSFORMS}InsertField", "InsertField", "filestreamsource"),
    ):
        c.get(name, f"/connector-plugins/{name}/config")
