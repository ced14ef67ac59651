#!/usr/bin/env python3
"""Requests beyond the scenarios of parity.py, with its commands: record, diff, list.

Every connector stays STOPPED, so that a replay takes a few seconds.
"""

import sys
from urllib.parse import quote

import parity
from parity import CV, JSONC, P, SNK, SRC, STRC, T, kp, scenario

parity.SCENARIOS.clear()
VALIDATE = "/connector-plugins/{}/config/validate"


def stopped(c, short, config):
    name = c.n(short)
    c.call("POST", "/connectors", body={"name": name, "config": config, "initial_state": "STOPPED"})
    c.call("GET", f"/connectors/{name}/status")
    return name


def findings(answer):
    """What a validation says about each key, without the definitions."""
    values = [x["value"] for x in answer["configs"]]
    keys = [[v["name"], v["value"], v["errors"], v["visible"], len(v["recommended_values"])] for v in values]
    return {"name": answer["name"], "error_count": answer["error_count"], "groups": answer["groups"], "keys": keys}


def both(c, label, config):
    """A validation, and the creation of a connector."""
    cls = config.get("connector.class", SRC)
    c.http(f"validate: {label}", "PUT", VALIDATE.format(quote(cls)), dict(config, name="n"), project=findings)
    name = c.n("z")
    c.http(f"create: {label}", "POST", "/connectors", {"name": name, "config": config, "initial_state": "STOPPED"}, retry=False)
    c.call("DELETE", f"/connectors/{name}")


@scenario("bodies", "rest", True)
def bodies(c):
    nm = stopped(c, "a", c.src("a", c.n("t"), []))
    config, loggers = f"/connectors/{nm}/config", f"/admin/loggers/{c.n('l')}"
    for label, raw in (("surrogate", b'{"a":"\xed\xa0\x80"}'), ("latin 1", b'{"a":"gr\xfcn"}'), ("truncated", b'{"a":"\xe2\x82"}'), ("utf-16", '{"a":"x"}'.encode("utf-16")), ("utf-32", '{"a":"x"}'.encode("utf-32-le")),
                       ("byte order mark", b'\xef\xbb\xbf{"a":"b"}'), ("two values", b'{"a":"1"} {"b":"2"}'), ("comma at the end", b'{"a":"1",}'), ("comment", b'/* */ {"a":"1"}'), ("leading zero", b'{"a":01}'), ("control character", b'{"a":"x\ny"}'), ("NUL", b"\0")):
        c.http(f"{label}: PATCH", "PATCH", config, raw=raw)
        c.http(f"{label}: logger", "PUT", loggers, raw=raw)
    for label, value in (("exponent", "1e3"), ("long", "123456789012345678901234567890"), ("negative zero", "-0"), ("fraction", "1.50E+2"), ("escape", '"\\u00fc\\/\\ud83d\\ude00"'), ("empty", '""')):
        c.http(f"value {label}", "PATCH", config, raw=f'{{"own":{value}}}')
    for state in ("null", '" STOPPED "', "true", "[]", '"STARTED"', '"Stopped"'):
        c.http(f"initial_state {state}", "POST", "/connectors", raw=f'{{"name":"{c.n("s")}","initial_state":{state},"config":{{"connector.class":"{SRC}","topic":"t","file":"{c.f("none")}"}}}}')
        c.call("DELETE", f"/connectors/{c.n('s')}")
    for level in ('""', '" "', '" debug "', "5", "true", "null", "{}", '"WARNING"', '"ALL"'):
        c.http(f"level {level}", "PUT", loggers, raw=f'{{"level":{level}}}')


@scenario("paths", "rest", True)
def paths(c):
    for label, name in (("quotes", "a\"b'c"), ("query", "a?b#c&d=e"), ("emoji", "😀"), ("combining", "u\u0308"), ("brackets", "[a]<b>|^`~"), ("no-break space", "a\u00a0b"), ("C1 control", "a\u0085b"), ("DEL", "a\x7fb"), ("long", "x" * 900)):
        name = c.n(name)
        at = "/connectors/" + quote(name, safe="")
        if c.http(f"{label}: create", "POST", "/connectors", {"name": name, "config": c.src("f", c.n("t"), []), "initial_state": "STOPPED"}).status_code == 201:
            c.get(f"{label}: config", f"{at}/config")
            c.http(f"{label}: delete", "DELETE", at)
    none = f"/connectors/{c.n('none')}"
    for path in ("/tasks/0x0/status", "/tasks/00/status", "/tasks/+0/status", "/tasks/2147483648/status", "/tasks/1.0/status", "/status/", "/status;v=1", "/tasks/0", "/tasks/0/pause", "/config/validate"):
        c.get(path, none + path)
    nm = stopped(c, "a", c.src("a", c.n("t"), []))
    for task in ("-1", "0", "7", "x"):
        c.http(f"restart task {task}", "POST", f"/connectors/{nm}/tasks/{task}/restart")
        c.http(f"restart task {task} of none", "POST", f"{none}/tasks/{task}/restart")
    for plugin in ("Connector", "FileStream", "filestreamsource", "FileStreamSourceConnector", "%46ileStreamSource", "JsonConverter"):
        c.http(f"validate {plugin}", "PUT", VALIDATE.format(plugin), {"connector.class": SRC, "topic": "t", "name": "n"}, project=lambda b: b["error_count"])
    for query in ("expand=status&expand=status", "expand=STATUS", "expand=info&expand=", "expand", "expand=tasks"):
        c.get(query, f"/connectors?{query}", project=lambda b: b.get(nm) if isinstance(b, dict) else nm in b)


@scenario("validation", "rest", True)
def validation(c):
    source = {"connector.class": SRC, "topic": c.n("t"), "file": c.f("none")}
    sink = {"connector.class": SNK, "topics": c.n("t")}
    for key, value in (("tasks.max", " 3 "), ("tasks.max", "1e3"), ("tasks.max.enforce", "yes"), ("errors.retry.timeout", "-2"), ("errors.tolerance", "ALL"), ("config.action.reload", "NONE"), ("batch.size", "0"), ("topic", ""),
                       ("transaction.boundary.interval.ms", "0"), ("offsets.storage.topic", ""), ("topic.creation.groups", "a,a"), ("topic.creation.groups", ","), ("value.converter", ""), ("value.converter", "java.lang.String"), ("value.converter", CV + "NumberConverter"),
                       ("value.converter", SRC), ("header.converter", "org.apache.kafka.connect.storage.HeaderConverter"), ("value.converter.plugin.version", "9"), ("value.converter.plugin.version", "["), ("connector.plugin.version", "["),
                       ("connector.plugin.version", "[4.0,5.0)"), ("transforms", " a , b "), ("transforms", "a,a"), ("predicates", "p,p"), ("tasks.max", None), ("own", None), ("value.converter", None)):
        both(c, f"{key}={value}", dict(source, **{key: value}))
    both(c, "a version range of a given converter", dict(source, **{"value.converter": JSONC, "value.converter.plugin.version": "["}))
    for key, value in (("topics", " a , b "), ("topics", "a,a"), ("topics", ","), ("topics.regex", "a.*"), ("errors.deadletterqueue.topic.replication.factor", "0"), ("consumer.override.group.id", "g"), ("exactly.once.support", "required")):
        both(c, f"{key}={value}", dict(sink, **{key: value}))
    chain = {"transforms": "a", "transforms.a.type": T + "HoistField$Value", "transforms.a.field": "f"}
    for label, more in (("no type", {"transforms.a.type": None}), ("type of a converter", {"transforms.a.type": STRC}), ("negate alone", {"transforms.a.negate": "false"}), ("negate is no boolean", {"transforms.a.negate": "x", "transforms.a.predicate": "p"}),
                        ("unknown version", {"transforms.a.plugin.version": "9"}), ("predicate without its key", {"predicates": "p", "predicates.p.type": P + "HasHeaderKey"}), ("bad pattern", {"predicates": "p", "predicates.p.type": P + "TopicNameMatches", "predicates.p.pattern": "["})):
        both(c, label, {k: v for k, v in {**source, **chain, **more}.items() if v is not None})
    for label, kind, more in (("cast", "Cast$Value", {"spec": "a:int8,b:x"}), ("two casts", "Cast$Value", {"spec": "int8,int16"}), ("renames", "ReplaceField$Value", {"renames": "a:b:c"}), ("precision", "TimestampConverter$Value", {"target.type": "unix", "unix.precision": "hours"}),
                              ("header operation", "HeaderFrom$Value", {"fields": "a", "headers": "b", "operation": "x"}), ("header numbers", "HeaderFrom$Value", {"fields": "a,b", "headers": "b", "operation": "copy"}), ("syntax", "ExtractField$Value", {"field": "a", "field.syntax.version": "V3"}), ("regex", "RegexRouter", {"regex": "(", "replacement": "x"})):
        both(c, label, {**source, "transforms": "a", "transforms.a.type": T + kind, **{f"transforms.a.{k}": v for k, v in more.items()}})


@scenario("offsets", "offsets", True)
def offsets(c):
    source = stopped(c, "a", c.src("a", c.n("t"), []))
    entry = lambda partition, offset: {"partition": partition, "offset": offset}
    for label, partition, offset in (("float", {"filename": "x"}, {"position": 1.0}), ("largest", {"filename": "x"}, {"position": 2**63 - 1}), ("too large", {"filename": "x"}, {"position": 2**63}), ("number as name", {"filename": 5}, {"position": 1}), ("null as name", {"filename": None}, {"position": 1}),
                                     ("list in offset", {"filename": "x"}, {"position": 1, "a": [1]}), ("reset of a bad partition", {"zz": 1}, None), ("all null", None, None), ("extra keys", {"filename": "e", "ü": "日本", "n": None, "f": 1.5}, {"position": 1, "b": True})):
        c.http(f"source: {label}", "PATCH", f"/connectors/{source}/offsets", {"offsets": [entry(partition, offset)]})
    for raw in ('{"offsets":"x"}', '{"offsets":[[]]}', '{"offsets":[{}]}', '{"offsets":[{"partition":"","offset":{}}]}', "null", '{"Offsets":[]}'):
        c.http(f"source: {raw}", "PATCH", f"/connectors/{source}/offsets", raw=raw)
    c.get("source: offsets", f"/connectors/{source}/offsets")
    c.http("source: reset", "DELETE", f"/connectors/{source}/offsets", {"a": 1})
    c.get("source: none left", f"/connectors/{source}/offsets")
    topic = c.topic("t", 2)
    sink = stopped(c, "k", c.snk("k", topic))
    for label, *entries in (("first offset", kp(topic, 0, 3)), ("padded", kp(topic, " 0 ", 1)), ("zeros before", kp(topic, "01", "01")), ("plus", kp(topic, 0, "+1")), ("boolean", kp(topic, True, 1)), ("fraction", kp(topic, 0, 2.0)), ("Arabic digit", kp(topic, 0, "١")), ("topic is a number", kp(5, 0, 1)),
                            ("same twice", kp(topic, 0, 2), kp(topic, "0", 1)), ("null of a missing topic", kp(c.n("no"), 0, None)), ("good and missing", kp(topic, 1, 1), kp(c.n("no"), 0, 0)), ("good and null", kp(topic, 1, 2), kp(topic, 0, None))):
        c.http(f"sink: {label}", "PATCH", f"/connectors/{sink}/offsets", {"offsets": entries})
        c.group(f"sink: {label}, group", f"connect-{sink}")


if __name__ == "__main__":
    sys.exit(parity.main())
