"""Values that are known to be tricky for Cast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.contract.differential.cases.data import (
    DATE,
    TIME,
    TIMESTAMP,
    array_of,
    data,
    decimal,
    decimal_of,
    double,
    integer,
    logical_of,
    map_of,
    schema,
    single,
    struct_of,
)
from tests.contract.differential.cases.transforms import record, transformed

Json = Any

_TYPES = ["int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string"]
_TEXTS = ["1", "-0", "+7", "٣", "\U0001d7d1", "1_000", " 1", "1 ", "", "NaN", "Infinity", "-Infinity", "1e39", "1e400",
           "0x1p3",
          "1f", "1d", "1.5", ".5", "5.", "128", "-129", "99999999999999999999", "true", "TRUE", "tRue", "0", "x", "1,5",
          "16777217", "0.1", "1e-50", "00000000000000000000000000000000000000001", "9007199791611905", "inf", "nan",
          "1.00000017881393432617187499", "1.00000017881393432617187501"]  # fmt: skip
_WHOLES = [0, 1, -1, 127, 128, 255, 2**31, 2**53 + 1, 9007199791611905, -9007199791611905, 2**63 - 1, -(2**63),
           16777217,
           33554435, 2**62 + 2**38 + 1, 2**62 + 2**38]  # fmt: skip
_FLOATS = [
    0.0,
    -0.0,
    1.5,
    -1.5,
    1e10,
    1e39,
    -1e39,
    1e300,
    float("nan"),
    float("inf"),
    float("-inf"),
    0.1,
    127.9,
    3.4e38,
]
_DECIMALS = [decimal(2**64, 0), decimal(1, 1), decimal(12345, 2), decimal(-(2**70), 0), decimal(0, 2), decimal(5, -70),
             decimal(900719979161190500001, 5), decimal(1, 400)]  # fmt: skip
_CAST_SPECS = ["foo:int8:", "foo:int8::", "foo:", ":int8", "foo:int8,foo:int16", "foo:int8,", "foo:int8,int8",
           "int8,int8",
               "int8", "INT8", "foo: int8 ", " foo :int8", "foo:int8:x", "foo:bytes", "bytes", "foo:nope", "nope", "",
               ",", "foo:INT8", "array"]  # fmt: skip


def _casts() -> Iterator[Json]:
    for target in _TYPES:
        for text in _TEXTS:
            yield transformed("Cast$Value", {"spec": target}, record(text, schema("STRING")))
            yield transformed("Cast$Value", {"spec": f"a:{target}"}, record({"m": [["a", text]]}))
        for whole in _WHOLES:
            yield transformed("Cast$Value", {"spec": target}, record(integer(whole), schema("INT64")))
        for number in _FLOATS:
            yield transformed("Cast$Value", {"spec": target}, record(double(number), schema("FLOAT64")))
            yield transformed("Cast$Value", {"spec": target}, record(double(single(number)), schema("FLOAT32")))
        for found in _DECIMALS:
            yield transformed("Cast$Value", {"spec": target}, record(found, decimal_of(found["dec"][1])))
        yield from _cast_defaults(target)
    for spec in _CAST_SPECS:
        yield transformed("Cast$Value", {"spec": spec}, record({"m": [["foo", integer(1)], ["", integer(2)]]}))


def _cast_defaults(target: str) -> Iterator[Json]:
    for name, held in ((DATE, 86_400_000), (TIME, 1000), (TIMESTAMP, 1_566_570_894_346)):
        of = logical_of(name, default={"date": held})
        yield transformed("Cast$Value", {"spec": target}, record({"date": held}, of))
        yield transformed("Cast$Value", {"spec": f"a:{target}"}, record({"st": []}, struct_of({"a": of})))
        optional = logical_of(name, optional=True)
        yield transformed("Cast$Value", {"spec": f"a:{target}"}, record({"st": []}, struct_of({"a": optional})))
    of = decimal_of(2, default=decimal(1234, 2))
    yield transformed("Cast$Value", {"spec": target}, record(decimal(1, 2), of))
    yield transformed("Cast$Value", {"spec": f"a:{target}"}, record({"st": []}, struct_of({"a": of})))
    scalars: dict[str, Json] = {"STRING": "300", "INT64": integer(300), "BOOLEAN": True, "BYTES": data(b"ab")}
    for kind, held in scalars.items():
        of = struct_of({"a": schema(kind, default=held, name="n", doc="d")})
        yield transformed("Cast$Value", {"spec": f"a:{target}"}, record({"st": []}, of))
    empty: list[tuple[Json, Json]] = [
        (array_of(schema("INT8")), {"a": []}),
        (map_of(schema("STRING"), schema("INT8")), {"m": []}),
    ]
    for of, held in empty:
        yield transformed("Cast$Value", {"spec": target}, record(held, of))
        yield transformed("Cast$Value", {"spec": f"a:{target}"}, record({"st": [["a", held]]}, struct_of({"a": of})))


TABLE: list[Json] = list(_casts())
