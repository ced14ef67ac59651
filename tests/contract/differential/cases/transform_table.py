"""Records that are known to be tricky for transformations."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

from tests.contract.differential.cases.data import (
    DATE,
    TIME,
    TIMESTAMP,
    Chance,
    array_of,
    data,
    decimal,
    decimal_of,
    double,
    integer,
    logical_of,
    map_of,
    schema,
    struct_of,
)
from tests.contract.differential.cases.transforms import record, transformed

Json = Any

_WITH_DEFAULT = struct_of(
    {"n": schema("INT32", default=integer(7)), "o": schema("STRING", optional=True, default="x"), "s": schema("STRING")}
)
_UNSET: list[Json] = [
    {"st": [["s", "a"]]}, {"st": [["n", integer(1)], ["s", "a"]]}, {"st": [["o", "y"], ["s", "a"]]},
    {"st": [["n", integer(1)], ["o", "y"], ["s", "a"]]},
]  # fmt: skip
_COPIES: dict[str, Json] = {
    "Cast$Value": {"spec": "n:int64,o:string"},
    "ExtractField$Value": {"field": "n"},
    "HeaderFrom$Value": {"fields": "s", "headers": "h", "operation": "move"},
    "InsertField$Value": {"topic.field": "t"},
    "MaskField$Value": {"fields": "n,s"},
    "ReplaceField$Value": {"renames": "n:m,o:p"},
    "SetSchemaMetadata$Value": {"schema.name": "new"},
    "TimestampConverter$Value": {"field": "nope", "target.type": "Timestamp"},
    "ValueToKey": {"fields": "n,o"},
    "Flatten$Value": {},
    "HoistField$Value": {"field": "f"},
}


def _with_defaults() -> Iterator[Json]:
    """Nulls in fields with defaults, through all transformations that copy structs."""
    for (name, config), held, fill in product(_COPIES.items(), _UNSET, ("true", "false")):
        nulls = {} if name in ("Flatten$Value", "HoistField$Value") else {"replace.null.with.default": fill}
        yield transformed(name, config | nulls, record(held, _WITH_DEFAULT))
    faults: Json = {"st": [["s", "no number"]]}
    faulty = struct_of({"s": schema("STRING"), "n": schema("INT32", default=integer(7))})
    yield transformed("Cast$Value", {"spec": "s:int8", "replace.null.with.default": "false"}, record(faults, faulty))
    for operation, held in product(("move", "copy"), _UNSET):
        config = {"fields": "n,o", "headers": "a,b", "operation": operation, "replace.null.with.default": "false"}
        yield transformed("HeaderFrom$Value", config, record(held, _WITH_DEFAULT))


def _without_names() -> Iterator[Json]:
    nameless = struct_of({"": schema("STRING"), "a": schema("INT32", optional=True)})
    for name, config in _COPIES.items():
        config = {key: text.replace("n", "a").replace("o:", "b:") for key, text in config.items()}
        if name != "TimestampConverter$Value" and name != "HeaderFrom$Value" and name != "Cast$Value":
            yield transformed(name, config, record({"st": [["", "x"]]}, nameless))
    for held, of in ((None, None), ({"m": []}, None), ({"st": [["s", "a"]]}, _WITH_DEFAULT), ("x", schema("STRING"))):
        for name in ("topic.field", "timestamp.field", "partition.field", "offset.field"):
            yield transformed("InsertField$Value", {name: ""}, record(held, of))
            yield transformed("InsertField$Value", {name: "?"}, record(held, of))
        yield transformed("HoistField$Value", {"field": ""}, record(held, of))


_REPLACEMENTS = ["x", "7", "1_000", "1e39", "-0", "-0.0", "NaN", "Infinity", "300", "1.9", "-1", "", "1e3", "٣", ".5",
           "5.", "1e",
                 "1e99", "1e2147483647", "1e2147483648", "99999999999999999999", "+3", " 3", "0x10",
                 "1e-400"]  # fmt: skip
_MASKED: list[tuple[Json, Json]] = [
    (schema("INT8"), integer(5)), (schema("INT16"), integer(5)), (schema("INT32"), integer(5)),
    (schema("INT64"), integer(5)), (schema("FLOAT32"), double(1.5)), (schema("FLOAT64"), double(1.5)),
    (schema("STRING"), "s"), (schema("BOOLEAN"), True), (schema("BYTES"), data(b"ab")), (logical_of(DATE), {"date": 0}),
    (logical_of(TIME), {"date": 5}), (logical_of(TIMESTAMP), {"date": 5}), (decimal_of(0), decimal(5, 0)),
    (decimal_of(2), decimal(5, 2)),
    (array_of(schema("INT8")), {"a": [integer(1)]}), (map_of(schema("STRING"), schema("INT8")), {"m": []}),
    (struct_of({"x": schema("INT8", optional=True)}), {"st": []}),
]  # fmt: skip


def _masks() -> Iterator[Json]:
    for (of, held), replacement in product(_MASKED, [None, *_REPLACEMENTS]):
        config = {"fields": "a"} | ({} if replacement is None else {"replacement": replacement})
        yield transformed("MaskField$Value", config, record({"st": [["a", held]]}, struct_of({"a": of})))
        if of["type"] in ("INT64", "FLOAT64", "STRING", "BOOLEAN"):
            yield transformed("MaskField$Value", config, record({"m": [["a", held]]}))


_RENAMES = ["a:b", "a:b,a:b", "a:b,a:c", "a:b:", "a:", ":b", "a", "a:b:c", "a:b,c:b", "a:b,b:a", ":", "", "a:b,"]
_MAP: Json = {"m": [["a", integer(1)], ["b", integer(2)], ["c", None], ["", "x"]]}
_STRUCT = struct_of({"a": schema("INT8"), "b": schema("INT8"), "c": schema("INT8", optional=True)})


def _names() -> Iterator[Json]:
    struct: Json = {"st": [["a", integer(1)], ["b", integer(2)]]}
    for renames, (held, of) in product(_RENAMES, ((_MAP, None), (struct, _STRUCT), (None, None), (None, _STRUCT))):
        yield transformed("ReplaceField$Value", {"renames": renames}, record(held, of))
    for entries in ("a,a", "a,", ",a", "", "a", " a , b "):
        for name in ("include", "exclude"):
            yield transformed("ReplaceField$Value", {name: entries}, record(struct, _STRUCT))
        for name in ("MaskField$Value", "ValueToKey"):
            yield transformed(name, {"fields": entries}, record(struct, _STRUCT))
        yield transformed("DropHeaders", {"headers": entries}, record(struct, _STRUCT, headers=[["a", None, "x"]]))
        config = {"fields": entries, "headers": entries, "operation": "copy"}
        yield transformed("HeaderFrom$Value", config, record(struct, _STRUCT))
    clashing: Json = {
        "m": [["a.b", integer(1)], ["a", {"m": [["b", integer(2)], ["c.d", True]]}], ["a.c", {"m": [["d", "x"]]}]]
    }
    yield transformed("Flatten$Value", {}, record(clashing))
    yield transformed("Flatten$Value", {"delimiter": ""}, record(clashing))
    inner = struct_of({"b": schema("INT8", optional=True)}, optional=True)
    of = struct_of({"a.b": schema("INT8", optional=True), "a": inner})
    yield transformed("Flatten$Value", {}, record({"st": []}, of))


_PATHS = ["a", "a.b", "`a.b`", "`a", "a`", "`a`.b", "`a.b", "\\`a", "`a\\`.b`", "`a\\`", "``", "`", "a.", ".a", ".",
           "`a`b`", "`a`b",
          "a.`b`", "`a.b`.c", "``.a", "a..b", "`a``b`", "a`.b", "``a`", "`a`.", ""]  # fmt: skip


def _paths() -> Iterator[Json]:
    leaves: Json = {"m": [["b", "ab"], ["", "a-"], ["`", "a`"]]}
    names = ["a", "a.b", "`a", "a`", "", "`", "\\`a", "a`.b", "a\\`", "a`b", "a``b", "`a`b"]
    for path, depth in product(_PATHS, (0, 1)):
        given = {"m": [[name, leaves if depth else name] for name in names]}
        yield transformed("ExtractField$Value", {"field": path, "field.syntax.version": "V2"}, record(given))


_UNIX_TIMES = [
    0, -1, 999, 1_566_570_894, 1_566_570_894_346, -1_566_570_894_346_999, 1_566_570_894_346_999_999,
    -62_135_596_800_001, -92_135_596_812_345_678, -(1 << 63), (1 << 63) - 1,
]  # fmt: skip
_UNITS = ["seconds", "milliseconds", "microseconds", "nanoseconds"]


def _times() -> Iterator[Json]:
    for unit, target in product(_UNITS, ("unix", "Timestamp", "Date", "Time")):
        config = {"target.type": target, "unix.precision": unit}
        for ms in (0, -1, 1_566_570_894_346, 9_300_000_000_000, -9_300_000_000_000, 253_402_300_799_999):
            yield transformed("TimestampConverter$Value", config, record({"date": ms}, logical_of(TIMESTAMP)))
        for number in _UNIX_TIMES:
            yield transformed("TimestampConverter$Value", config, record(integer(number), schema("INT64")))
    for target, text in product(("unix", "Timestamp", "Date", "Time"), ("0000-05-06 10:30", "99999-05-06 10:30")):
        config = {"target.type": target, "format": "yyyy-MM-dd HH:mm"}
        yield transformed("TimestampConverter$Value", config, record(text, schema("STRING")))
    for target, pattern in product(("string", "unix", "Date", "nope", ""), ("", "yyyy", "b", " ", "yyyy'")):
        yield transformed("TimestampConverter$Value", {"target.type": target, "format": pattern}, record(None))
    for kind, held in _MASKED:
        yield transformed("TimestampConverter$Value", {"target.type": "unix"}, record(held, kind))
    yield transformed("InsertHeader", {"header": "h", "value.literal": "0000-00-00"}, record(None))
    for pattern in ("HH:mm:ss.SSS", "yyyyMMdd", "b", "", "yyyy'x'"):
        for time in (0, 1_566_570_894_346, None):
            yield transformed("TimestampRouter", {"timestamp.format": pattern}, record(None, timestamp=time))


TABLE: list[Json] = [
    *_with_defaults(), *_without_names(), *_masks(), *_names(), *_paths(), *_times(),
]  # fmt: skip


def generated(random: Random, count: int) -> list[Json]:
    """Paths into maps, and flattened maps whose names may clash."""
    chance = Chance(random)
    return [_path(chance) if chance.random.random() < 0.6 else _clashing(chance) for _ in range(count)]


def _path(chance: Chance) -> Json:
    path = "".join(chance.one("ab..``\\") for _ in range(chance.random.randint(1, 7)))
    names = {path, *path.split("."), "a", "b", "", path.strip("`"), path.replace("\\", "")}
    given = {"m": [[name, {"m": [[inner, name + inner] for inner in sorted(names)]}] for name in sorted(names)]}
    return transformed(
        "ExtractField$Value", {"field": path, "field.syntax.version": chance.one(["V1", "V2"])}, record(given)
    )


def _clashing(chance: Chance) -> Json:
    def held(depth: int) -> Json:
        if depth and chance.random.random() < 0.6:
            names = chance.random.sample(["a", "b", "a.b", "b.a", "a.a", "."], chance.random.randint(1, 4))
            return {"m": [[name, held(depth - 1)] for name in names]}
        return integer(chance.random.randrange(1000))

    return transformed("Flatten$Value", {}, record(held(3)))
