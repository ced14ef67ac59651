"""SimpleHeaderConverter: values as text, and literals as values."""

from __future__ import annotations

import base64
from random import Random
from typing import Any

from tests.contract.differential.cases.data import TEXTS, Chance

Json = Any
SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"


def read(text: str | bytes | None, name: str = SIMPLE, config: Json = None) -> Json:
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    held = None if raw is None else base64.b64encode(raw).decode()
    return {"op": "to_header", "class": name, "config": config or {}, "data": held}


def written(of: Json, value: Json, name: str = SIMPLE, config: Json = None) -> Json:
    return {"op": "from_header", "class": name, "config": config or {}, "schema": of, "value": value}


TABLE: list[Json] = [read(text) for text in TEXTS if text.isprintable()]


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
