"""SimpleHeaderConverter: values as text, and literals as values."""

from __future__ import annotations

import base64
from random import Random
from typing import Any

from tests.contract.differential.cases.data import (
    TEXTS,
    Chance,
    data,
    decimal,
    double,
    integer,
    map_of,
    schema,
    struct_of,
)

Json = Any
SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"


def read(text: str | bytes | None, name: str = SIMPLE, config: Json = None) -> Json:
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    held = None if raw is None else base64.b64encode(raw).decode()
    return {"op": "to_header", "class": name, "config": config or {}, "data": held}


def written(of: Json, value: Json, name: str = SIMPLE, config: Json = None) -> Json:
    return {"op": "from_header", "class": name, "config": config or {}, "schema": of, "value": value}


_LITERALS = [
    *("{1:2 3:4}", "[14:34:54.346Z ]", "[true,2019-08-23]", "[true,1e400]", "{false:true,0:0}", "0000-00-00"),
    *("", " ", "null"),
    *("[1,2]", "[1,300]", "[1,2.5]", "[1e400,1]", "[1,1e400]", "[null,1]", "[null]", "[]", "{}", "[,]"),
    *("[1,]", "[1", "{1:2", "]"),
    *("[[1],[2]]", "[[1],2]", "[{a:1}]", '[{"a":1}]', '{"a":[1,2]}', "{1:2,3:4}", "{1:2,3.5:x}"),
    *('{"a":1,"b":"x"}', "{a:1}"),
    *("{1:null}", "{null:1}", '{"a":null,"b":null}', '{"a":1,"a":2}', "{1:2,1:3}", "{true:1}", "{[1]:2}"),
    *("{{}:1}", "{1 : 2}"),
    *("[2019-08-23]", "[2019-08-23,1]", "[1,2019-08-23]", "[1000000,2019-08-23]", "[2019-08-23,1000000]"),
    "[1.5,2019-08-23]",
    *("[14:34:54.346Z]", "[14:34:54.346Z,5]", "[5,14:34:54.346Z]", "[2019-08-23T14:34:54.346Z]"),
    "[2019-08-23,14:34:54.346Z]",
    *("[2019-08-23T14:34:54.346Z,2019-08-23]", "[5,2019-08-23T14:34:54.346Z]", "[5000000000,2019-08-23T14:34:54.346Z]"),
    *('["2019-08-23"]', '["14:34:54.346Z",1]', '"2019-08-23"', '["x\\"y"]', '["x', '"', '""', '["",1]'),
    *('["a","b"]', '[" "]'),
    *("2019-08-23x", "2019-8-23xx", "2019-13-01", "99999-1-01", "0001-01-01", "9999-12-31", "1582-10-10", "2019-02-30"),
    *("24:00:00.000Z", "23:59:59.999Z", "14:34:54.346Z", "14\\:34\\:54.346Z", "25:00:00.000Z"),
    *("14:34:54.346", "1:2:3.4Z"),
    *("2019-08-23T14:34:54.346Z", "2019-08-23T14:34:54.346X", "2019-08-23T14\\:34\\:54.346Z"),
    "0000-00-00T00:00:00.000Z",
    *("14:34", "1:2", "1,2", "1]", "1 2", "true}", "true ", " true", "truex", "false,", "null ", "nullx"),
    *("NULL", "true:false"),
    *("1_000", "٣", "٣٤.٥", "1e3", "1e2147483647", "1e99999999999", "1e-400", "0e0", "-0", "-0.0", "+1", "+"),
    *("-", "1e", "1e+"),
    *("3.4028235e38", "3.4028236e38", "1.7976931348623157e308", "1.8e308", "9223372036854775807"),
    "9223372036854775808",
    *("1.0", "1.10", "100000000000000000000.0", "1.5e10", "16777217.5", "0.1", "1e-50", "-128", "-129"),
    *("32768", "2147483648"),
    *("[" * 60 + "]" * 60, "[" * 99 + "1" + "]" * 99, "[1, 2 , 3]", "[ 1 ]", "[1 ,2]", "{ }", "[ ]"),
    *("{1:2}x", "[1]x", "[1] ,"),
    *("x[1]", "a:b", "a\\", "\\[1]", "[\\]]", '{"a":1 "b":2}', '{"a":1,,"b":2}', "{1:2,}", "{:}", "{1}"),
    *("[1;2]", "\t[1]\n"),
    *("\ud800", "\udc80", "\U0001f600", "[\U0001f600]", "[0.1,1e300]", "[1,0.1]", "[0.1,16777217]"),
    "[0.1,9007199254740993]",
    *("[1,true]", '[1,"x"]', '["x",1]', "[true,false]", "[null,true,1]", "[true,null]", "[1,null,x]"),
    *("{1:true,2:3}", "{1:1,x:2}"),
]  # fmt: skip
_DEFAULTS = struct_of({
    "a": schema("INT32", default=integer(7)), "b": schema("STRING", optional=True, default="d"),
    "c": schema("FLOAT32", optional=True),
})  # fmt: skip
_MAP = map_of(schema("STRING"), schema("FLOAT32"))
TABLE: list[Json] = [
    *(read(text) for text in (*_LITERALS, *TEXTS)),
    *(read(raw) for raw in (None, b"", b"\xff", b"a\xc3", b"[1,\xff]", b"\xed\xa0\x80")),
    *(written(None, value) for value in (
        *TEXTS, True, None, integer(5), double(1e10), double(float("nan")), decimal(15, 1), decimal(1, -400),
        data(b"\x00\xff"),
        {"date": 0}, {"date": 86_400_000}, {"date": -1}, {"date": 1566570894346},
        {"a": [None, "x", data(b"a"), {"a": []}]},
        {"m": [["b", integer(1)], ["a", "q\"\\"], [integer(3), None], ["aa", {"date": 86_400_000}]]})),
    *(written(_DEFAULTS, {"st": pairs}) for pairs in ([], [["a", integer(1)]], [["c", double(0.10000000149011612)]])),
    written(_MAP, {"m": [["x", double(0.10000000149011612)], ["a", double(1.0)]]}),
    *(written(schema(kind), value) for kind, value in (
        ("FLOAT32", double(0.10000000149011612)), ("INT8", integer(5)), ("BYTES", data(b"x")), ("STRING", "[1]"))),
]  # fmt: skip


def generated(random: Random, count: int) -> list[Json]:
    chance = Chance(random)
    return [_written(chance) if n % 3 == 0 else read(_literal(chance)) for n in range(count)]


def _written(chance: Chance) -> Json:
    of = chance.often(chance.schema(), None)
    return written(of, chance.value(of))


_ATOMS = [
    "1", "-2", "3.5", "1e3", "1e400", "true", "false", "null", '"x"', '"2019-08-23"', "2019-08-23", "14:34:54.346Z",
    "2019-08-23T14:34:54.346Z", "abc", "300", "70000", "5000000000", "99999999999999999999", "", " ", '"a\\"b"', '"',
    "0000-00-00", "2019-13-01", "2019-08-23T14:34:54.346+02:00", "0.1", "007", ".5", "5.", "+5", "-0.0", "0x10", "NaN",
]  # fmt: skip


def _literal(chance: Chance, depth: int = 2) -> str:
    roll = chance.random.random()
    space = chance.one(["", "", "", " ", "\t"])
    if depth and roll < 0.3:
        items = (_literal(chance, depth - 1) for _ in range(chance.random.randrange(4)))
        return f"{space}[{space}{chance.one([',', ', ', ',', ' ']).join(items)}{chance.one([']', ']', ']', '', '] x'])}"
    if depth and roll < 0.55:
        pairs = (
            f"{_literal(chance, 0)}{chance.one([':', ':', ':', ' : ', ','])}{_literal(chance, depth - 1)}"
            for _ in range(chance.random.randrange(4))
        )
        return f"{{{space}{chance.one([',', ',', ' ']).join(pairs)}{chance.one(['}', '}', '}', ''])}{space}"
    return f"{space}{chance.one(_ATOMS)}{space}" if roll < 0.9 else chance.text()
