"""SchemaBuilder, validation of values, SchemaProjector."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.contract.differential.cases.data import Chance, schema

Json = Any


def build(*calls: Any) -> Json:
    return {"op": "build", "calls": [list(call) if len(call) > 1 else [call[0], None] for call in calls]}


def validated(of: Json, value: Json, name: str = "f") -> Json:
    return {"op": "validate", "schema": of, "value": value, "name": name}


def projected(source: Json, value: Json, target: Json) -> Json:
    return {"op": "project", "source": source, "value": value, "target": target}


TABLE: list[Json] = [
    build(("type", "INT32"), ("optional",), ("optional",)),
    build(("type", "INT32"), ("optional",), ("required",)),
    build(("type", "STRUCT"), ("field", ["", schema("INT32")])),
    build(("type", "ARRAY")),
    build(("type", "MAP")),
]


def generated(random: Random, count: int) -> list[Json]:
    chance = Chance(random)
    return [_projected(chance) if n % 2 else _validated(chance) for n in range(count)]


def _validated(chance: Chance) -> Json:
    of = chance.schema()
    return validated(of, chance.value(of if chance.random.random() < 0.5 else chance.schema(0)))


def _projected(chance: Chance) -> Json:
    source = chance.schema(1)
    target = chance.often(_changed(chance, source), chance.schema(1), 0.8)
    return projected(source, chance.value(source), target)


def _changed(chance: Chance, of: Json) -> Json:
    made = dict(of)
    if chance.random.random() < 0.3:
        made["optional"] = True
    if chance.random.random() < 0.3:
        made.pop("optional", None)
    if chance.random.random() < 0.2:
        made["type"] = (
            chance.one(["INT64", "FLOAT64", made["type"]]) if made["type"].startswith(("INT", "FLO")) else made["type"]
        )
        made.pop("default", None)
    if chance.random.random() < 0.1:
        made["name"] = "other"
    if "fields" in made:
        made["fields"] = [
            [name, _changed(chance, inner)] for name, inner in made["fields"] if chance.random.random() < 0.8
        ]
        if chance.random.random() < 0.4:
            made["fields"].append(["new", chance.schema(0)])
    return made
