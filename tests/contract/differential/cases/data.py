"""Random schemas and values as documents, with frequent edge values of every type."""

from __future__ import annotations

import base64
import struct
from random import Random
from typing import Any

Json = Any

INTEGERS = {"INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64}
FLOATS = [
    0.0, -0.0, 1.0, -1.5, 0.1, 1e-3, 9.99e-4, 1e7, 12345.9, 1.7e12, 1e10, 1e38, 1e39, 3.4028235e38, 1.4e-45, 4.9e-324,
    1.7976931348623157e308, float("inf"), float("-inf"), float("nan"), 2.0**53, 2.0**63, -(2.0**63), 2.0**64, 0.5,
    16777217.0, 9007199254740993.0, 0.30000000000000004,
]  # fmt: skip
TEXTS = [
    "", " ", "a", "x y", "ä", "€", "\U0001f600", "\x00", "\x7f", "\n", "\\", '"', "'", "null", "true", "false", "TRUE",
    "17", "-5", "1.5", "1e400", "NaN", "Infinity", "0x1p3", "1_000", "٣", "2019-08-23", "14:34:54.346Z",
    "2019-08-23T14:34:54.346Z", "0000-00-00", "[1,2]", "{a:1}", "\ud800", "\udfff", "a.b", "`a`", "127", "128",
    "99999999999999999999", "+7", " 7 ", "7f", "abc", "a,b", "\u2028", "é", "\ufeff", "2147483648",
]  # fmt: skip
NAMES = ["a", "b", "c", "d", "a.b", "ä", "x y", "A"]
DECIMAL = "org.apache.kafka.connect.data.Decimal"
DATE = "org.apache.kafka.connect.data.Date"
TIME = "org.apache.kafka.connect.data.Time"
TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"
CARRIERS = {DATE: "INT32", TIME: "INT32", TIMESTAMP: "INT64"}
PLAIN = [*INTEGERS, "FLOAT32", "FLOAT64", "BOOLEAN", "STRING", "BYTES"]
DAY = 86_400_000


def integer(number: int) -> Json:
    return {"i": str(number)}


def double(number: float) -> Json:
    return {"f": struct.pack(">d", number).hex()}


def single(number: float) -> float:
    """The nearest float of 32 bits."""
    try:
        return float(struct.unpack(">f", struct.pack(">f", number))[0])
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def data(raw: bytes) -> Json:
    return {"b": base64.b64encode(raw).decode()}


def decimal(unscaled: int, scale: int) -> Json:
    return {"dec": [str(unscaled), scale]}


def schema(type_: str, **more: Any) -> Json:
    return {"type": type_, **more}


def struct_of(fields: dict[str, Json], **more: Any) -> Json:
    return {"type": "STRUCT", "fields": [[name, of] for name, of in fields.items()], **more}


def array_of(values: Json, **more: Any) -> Json:
    return {"type": "ARRAY", "values": values, **more}


def map_of(keys: Json, values: Json, **more: Any) -> Json:
    return {"type": "MAP", "keys": keys, "values": values, **more}


def decimal_of(scale: int, **more: Any) -> Json:
    return {"type": "BYTES", "name": DECIMAL, "version": 1, "parameters": [["scale", str(scale)]], **more}


def logical_of(name: str, **more: Any) -> Json:
    return {"type": CARRIERS[name], "name": name, "version": 1, **more}


class Chance:
    """Random schemas and values from one generator."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def often(self, one: Any, other: Any, share: float = 0.7) -> Any:
        return one if self.random.random() < share else other

    def one(self, of: Any) -> Any:
        return self.random.choice(of)

    def text(self) -> str:
        if self.random.random() < 0.6:
            return str(self.one(TEXTS))
        return "".join(self.one('abcxyz019 .,:-+_"\\{}[]äß€\U0001f600\t') for _ in range(self.random.randrange(1, 9)))

    def whole(self, bits: int) -> int:
        bound: int = 1 << (bits - 1)
        edge = self.one(
            [0, 1, -1, 7, 127, -128, 128, 255, 256, 32767, 32768, 2**31 - 1, 2**31, -(2**31), 10, 100, 1000]
        )
        number = self.one(
            [edge, bound - 1, -bound, self.random.randrange(-bound, bound), self.random.randrange(-99, 99)]
        )
        return int((number + bound) % (2 * bound) - bound)

    def number(self) -> float:
        return float(self.one(FLOATS)) if self.random.random() < 0.6 else self.random.uniform(-1000, 1000)

    def raw(self) -> bytes:
        return self.random.randbytes(self.random.randrange(0, 9))

    def schema(self, depth: int = 2, *, within: bool = False) -> Json:
        """Any schema; containers at most `depth` deep."""
        kinds = [*PLAIN, "STRING", "INT32", "decimal", DATE, TIME, TIMESTAMP]
        kind = self.one([*kinds, *["STRUCT"] * 5, "ARRAY", "MAP", "MAP"] if depth else kinds)
        made = self._bare(kind, depth)
        if self.random.random() < 0.45:
            made["optional"] = True
        if self.random.random() < 0.15 and "name" not in made:
            made["name"] = self.one(["n", "com.x.Y", ""])
        if self.random.random() < 0.1 and "version" not in made:
            made["version"] = self.one([1, 2, 0, -1, 2**31 - 1])
        if self.random.random() < 0.1:
            made["doc"] = self.one(["words", ""])
        if self.random.random() < 0.07:
            made.setdefault("parameters", []).append(["p", self.one(["q", ""])])
        if self.random.random() < 0.2 and kind != "STRUCT":
            made["default"] = self.value({**made, "optional": False}, nulls=0.0)
        return made

    def _bare(self, kind: str, depth: int) -> Json:
        if kind == "STRUCT":
            names = self.random.sample(NAMES, self.random.randrange(0, 5))
            if self.random.random() < 0.02:
                names.append("")
            return struct_of({name: self.schema(depth - 1) for name in names})
        if kind == "ARRAY":
            return array_of(self.schema(depth - 1))
        if kind == "MAP":
            keys = schema("STRING") if self.random.random() < 0.6 else schema(self.one(PLAIN[:-1]))
            return map_of(keys, self.schema(depth - 1))
        if kind == "decimal":
            return decimal_of(self.one([0, 2, 2, -2, 10]))
        return logical_of(kind) if kind in CARRIERS else schema(kind)

    def value(self, of: Json, nulls: float = 0.15) -> Json:
        """A value of a schema with a valid type; sometimes null if the schema is optional or has a default."""
        if of is None:
            return self.plain()
        if (of.get("optional") or "default" in of) and self.random.random() < nulls:
            return None
        return self._logical(of) or self._typed(of)

    def _logical(self, of: Json) -> Json:
        name, kind = of.get("name"), of["type"]
        if name == DECIMAL and kind == "BYTES":
            unscaled = self.one([0, 1, -1, 12345, self.random.randrange(-(2**70), 2**70)])
            return decimal(unscaled, int(dict(of["parameters"])["scale"]))
        if name == DATE and kind == "INT32":
            return {"date": DAY * self.one([0, 1, 18131, -1, self.random.randrange(-100000, 200000)])}
        if name == TIME and kind == "INT32":
            return {"date": self.one([0, 1, DAY - 1, self.random.randrange(DAY)])}
        if name == TIMESTAMP and kind == "INT64":
            return {"date": self.one([0, 1566570894346, -1, DAY, self.random.randrange(-(10**13), 10**14)])}
        return None

    def _typed(self, of: Json) -> Json:
        kind = of["type"]
        if kind in INTEGERS:
            return integer(self.whole(INTEGERS[kind]))
        if kind == "FLOAT32":
            return double(single(self.number()))
        if kind == "STRUCT":
            return {"st": [[name, found] for name, inner in of["fields"] if (found := self.value(inner)) is not None]}
        if kind == "ARRAY":
            return {"a": [self._element(of["values"]) for _ in range(self.random.randrange(0, 4))]}
        if kind == "MAP":
            keys = [self.value(of["keys"], nulls=0.0) for _ in range(self.random.randrange(0, 4))]
            unique = {str(key): key for key in keys if key != double(-0.0)}
            return {"m": [[key, self._element(of["values"])] for key in unique.values()]}
        makers = {"FLOAT64": lambda: double(self.number()), "BOOLEAN": lambda: self.one([True, False])}
        makers |= {"STRING": self.text, "BYTES": lambda: data(self.raw())}
        return makers[kind]()

    def _element(self, of: Json) -> Json:
        """A value that is not null if required, since defaults do not apply within arrays and maps."""
        return self.value(of, nulls=0.15 if of.get("optional") else 0.0)

    def plain(self, depth: int = 2) -> Json:
        """A value without a schema, as read from JSON."""
        roll = self.random.random()
        if depth and roll < 0.35:
            names = self.random.sample(NAMES, self.random.randrange(0, 4))
            return {"m": [[name, self.plain(depth - 1)] for name in names]}
        if depth and roll < 0.45:
            return {"a": [self.plain(depth - 1) for _ in range(self.random.randrange(0, 4))]}
        return self.one(
            [None, True, False, self.text(), self.text(), integer(self.whole(64)), double(self.number())]
        )  # fmt: skip
