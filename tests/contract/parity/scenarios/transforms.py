"""Records through Apache's transformations and predicates."""

from __future__ import annotations

import time

from tests.contract.parity.names import HOIST, STATIC, VALUES_WITH_SCHEMAS, Transform, chain
from tests.contract.parity.pipelines import Case, sinks, sources
from tests.contract.parity.recorder import Recorder
from tests.contract.parity.registry import scenario

_KEY: Transform = ("k", "ValueToKey", {"fields": "line"})
_KEY_LINE: Transform = ("e", "ExtractField$Key", {"field": "line"})


def header(name: str, key: str, value: str) -> Transform:
    return name, "InsertHeader", {"header": key, "value.literal": value}


def extract(field: str, **more: str) -> Transform:
    return "zz", "ExtractField$Value", {"field": field, **more}


def cast(spec: str) -> Transform:
    return "x", "Cast$Value", {"spec": spec}


@scenario("smt")
def smt_insert_replace_mask(c: Recorder) -> None:
    topic = {"topic.field": "tp", "partition.field": "pa?", "static.field": "st!", "static.value": "v"}
    mask = {"fields": "line", "replacement": "***"}
    replace = ("r", "ReplaceField$Value", {"exclude": "st", "renames": "line:text"})
    sources(
        c,
        Case("insert static", ["a"], chain(HOIST, STATIC), 1),
        Case("insert topic optional", ["a"], chain(HOIST, ("s", "InsertField$Value", topic)), 1),
        Case("insert timestamp", ["a"], chain(HOIST, ("s", "InsertField$Value", {"timestamp.field": "ts"})), 1),
        Case("replace exclude rename", ["a"], chain(HOIST, STATIC, replace), 1),
        Case("replace include", ["a"], chain(HOIST, STATIC, ("r", "ReplaceField$Value", {"include": "st"})), 1),
        Case("mask", ["secret"], chain(HOIST, STATIC, ("m", "MaskField$Value", {"fields": "line"})), 1),
        Case("mask replacement", ["secret"], chain(HOIST, STATIC, ("m", "MaskField$Value", mask)), 1),
    )


@scenario("smt")
def smt_keys(c: Recorder) -> None:
    sources(
        c,
        Case("valuetokey", ["a", "b"], chain(HOIST, STATIC, ("k", "ValueToKey", {"fields": "line,st"})), 2),
        Case("valuetokey extract", ["a", "b"], chain(HOIST, STATIC, _KEY, _KEY_LINE), 2),
        Case("key hoist", ["a"], chain(HOIST, _KEY, _KEY_LINE, ("hk", "HoistField$Key", {"field": "kk"})), 1),
        Case("hoist extract", ["a"], chain(HOIST, ("e", "ExtractField$Value", {"field": "line"})), 1),
        Case("extract missing", ["a"], chain(HOIST, ("e", "ExtractField$Value", {"field": "nope"})), 0, fails=True),
        Case("valuetokey missing", ["a"], chain(HOIST, ("k", "ValueToKey", {"fields": "nope"})), 0, fails=True),
        Case("insert on string", ["a"], chain(STATIC), 0, fails=True),
    )


@scenario("smt")
def smt_routers(c: Recorder) -> None:
    day = time.strftime("%Y%m%d", time.gmtime())
    c.normalize.last[day] = "<day>"
    by_week = {"topic.format": c.id + "-${timestamp}-x-${topic}", "timestamp.format": "yyyy'w'"}

    def regex(pattern: str, replacement: str) -> dict[str, str]:
        return chain(("r", "RegexRouter", {"regex": pattern, "replacement": replacement}))

    def routed(topic: str) -> str:
        return topic.replace(c.id, c.id + "-routed")

    sources(
        c,
        Case("regex router", ["a"], regex("(.*)-(.*)", "$1-routed-$2"), 1, output=routed),
        Case("regex not matching", ["a"], regex("nope", "x"), 1),
        Case("regex is anchored", ["a"], regex("par", "x"), 1),
        Case("timestamp router", ["a"], chain(("r", "TimestampRouter", {})), 1, output=lambda t: f"{t}-{day}"),
        Case(
            "timestamp router format", ["a"], chain(("r", "TimestampRouter", by_week)), 1,
            output=lambda topic: f"{c.id}-{day[:4]}w-x-{topic}",
        ),
    )  # fmt: skip


@scenario("smt")
def smt_predicates(c: Recorder) -> None:
    drop: Transform = ("f", "Filter", {"predicate": "p"})
    keep: Transform = ("f", "Filter", {"predicate": "p", "negate": "true"})
    hoist = {"field": "line", "predicate": "p"}

    def matches(pattern: str) -> tuple[str, dict[str, str]]:
        return "TopicNameMatches", {"pattern": pattern}

    with_header = chain(header("i", "hh", "1"), drop, p=("HasHeaderKey", {"name": "hh"}))
    negated: Transform = ("h", "HoistField$Value", {**hoist, "negate": "true"})
    sources(
        c,
        Case("filter topic matches", ["a", "b"], chain(drop, p=matches(".*matches")), 0),
        Case("filter topic other", ["a", "b"], chain(drop, p=matches("x.*")), 2),
        Case("filter negate", ["a", "b"], chain(keep, p=matches(".*negate")), 2),
        Case("filter header", ["a"], with_header, 0),
        Case("filter tombstone", ["a"], chain(drop, p=("RecordIsTombstone", {})), 1),
        Case("conditional hoist", ["a"], chain(("h", "HoistField$Value", hoist), p=matches("x")), 1),
        Case("conditional hoist negate", ["a"], chain(negated, p=matches("x")), 1),
    )
    topic = c.topic("all")
    c.create("all", {**c.source("all", topic, ["a"]), **chain(("f", "Filter", {}))})
    time.sleep(1.5)
    c.records("filter without predicate drops all", topic, 0)


@scenario("smt")
def smt_headers(c: Recorder) -> None:
    literals = {"hs": "text", "hi": "17", "hb": "true", "hj": '{"a":1}', "hf": "1.50"}
    five = [header(name, *literal) for name, literal in zip("ijklm", literals.items(), strict=True)]
    drop: Transform = ("d", "DropHeaders", {"headers": "h,zz"})

    def moved(kind: str, field: str, name: str, operation: str) -> Transform:
        return "f", f"HeaderFrom${kind}", {"fields": field, "headers": name, "operation": operation}

    sources(
        c,
        Case("insert header", ["a"], chain(*five), 1),
        Case("insert header twice", ["a"], chain(header("i", "h", "1"), header("j", "h", "2")), 1),
        Case("drop headers", ["a"], chain(header("i", "h", "1"), header("j", "g", "2"), drop), 1),
        Case("header from copy", ["a"], chain(HOIST, moved("Value", "line", "hl", "copy")), 1),
        Case("header from move", ["a"], chain(HOIST, STATIC, moved("Value", "st", "hs", "move")), 1),
        Case("header from key", ["a"], chain(HOIST, _KEY, moved("Key", "line", "hk", "move")), 1),
    )


@scenario("smt")
def smt_flatten_cast(c: Recorder) -> None:
    nest: Transform = ("n", "HoistField$Value", {"field": "outer"})
    delimiter: Transform = ("f", "Flatten$Value", {"delimiter": "_"})
    sources(
        c,
        Case("flatten", ["a"], chain(HOIST, nest, ("f", "Flatten$Value", {})), 1),
        Case("flatten delimiter", ["a"], {**chain(HOIST, nest, delimiter), **VALUES_WITH_SCHEMAS}, 1),
        Case("cast fields", ["42"], {**chain(HOIST, cast("line:int32")), **VALUES_WITH_SCHEMAS}, 1),
        Case("cast whole", ["42"], chain(cast("int64")), 1),
        Case("cast float", ["1.5"], chain(cast("float64")), 1),
        Case("cast boolean", ["true", "no"], chain(cast("boolean")), 2),
        Case("cast fails", ["abc"], chain(cast("int8")), 0, fails=True),
        Case("cast overflow", ["300"], chain(cast("int8")), 0, fails=True),
    )


@scenario("smt")
def smt_chain(c: Recorder) -> None:
    insert: Transform = ("s", "InsertField$Value", {"static.field": "src", "static.value": "file"})
    extract_key: Transform = ("x", "ExtractField$Key", {"field": "line"})
    rename: Transform = ("r", "ReplaceField$Value", {"renames": "line:text"})
    route: Transform = ("r", "RegexRouter", {"regex": ".*", "replacement": c.id + "-elsewhere"})
    topic: Transform = ("t", "InsertField$Value", {"topic.field": "tp"})
    long_chain = chain(HOIST, insert, _KEY, extract_key, header("i", "origin", "parity"), rename)
    unknown = chain(("h", "HoistField$Value", {"field": "line", "zzz": "1"}))
    sources(
        c,
        Case("long chain", ["a,1", "b,2"], long_chain, 2),
        Case("order matters", ["a"], chain(route, HOIST, topic), 1, output=lambda _: c.id + "-elsewhere"),
        Case("unknown transform property", ["a"], unknown, 1),
    )


@scenario("smt")
def smt_sink_schemaless(c: Recorder) -> None:
    value = '{"a": 1, "b": "x", "c": {"d": 2}}'
    fields = {"topic.field": "tp", "partition.field": "pa", "offset.field": "of"}
    insert: Transform = ("i", "InsertField$Value", {**fields, "static.field": "st", "static.value": "v"})
    rename: Transform = ("r", "ReplaceField$Value", {"include": "a,b", "renames": "a:aa"})
    sinks(
        c,
        Case("extract", [value], chain(extract("b")), 1),
        Case("extract missing gives null", [value], chain(extract("nope")), 1),
        Case("nested syntax", [value], chain(extract("c.d", **{"field.syntax.version": "V2"})), 1),
        Case("replace", [value], chain(rename), 1),
        Case("mask", ['{"a": 5, "b": "x"}'], chain(("m", "MaskField$Value", {"fields": "a,b"})), 1),
        Case("flatten", ['{"c": {"d": 2}}'], chain(("f", "Flatten$Value", {"delimiter": "/"})), 1),
        Case("cast", ['{"a": "12", "b": 1}'], chain(cast("a:float64,b:boolean")), 1),
        Case("hoist", ["5"], chain(HOIST), 1),
        Case("insert", ['{"a": 1}'], chain(insert), 1),
    )
