"""All transformations and predicates of Connect."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, cast

from runtime.api.data.schema import INT64_SCHEMA, STRING_SCHEMA, Schema, struct_schema
from runtime.api.transformation import Transformation
from runtime.plugin_kit import Case, PredicateCase, TransformationCase
from runtime.plugins.registry import load_target
from runtime.transforms.bundled import TRANSFORMATIONS
from runtime.transforms.predicates.conditions import HasHeaderKey, RecordIsTombstone, TopicNameMatches

_ORDER = struct_schema({"id": INT64_SCHEMA, "text": STRING_SCHEMA})
_VALUES: Sequence[tuple[Schema | None, Any]] = ((_ORDER, {"id": 1, "text": "a"}), (None, {"id": 1, "text": "a"}))

_CONFIGS: Mapping[str, Mapping[str, str]] = {
    "Cast": {"spec": "id:string"},
    "ExtractField": {"field": "id"},
    "Flatten": {},
    "HeaderFrom": {"fields": "id", "headers": "id", "operation": "move"},
    "HoistField": {"field": "whole"},
    "InsertField": {"static.field": "site", "static.value": "x", "topic.field": "topic"},
    "MaskField": {"fields": "text"},
    "ReplaceField": {"exclude": "text"},
    "SetSchemaMetadata": {"schema.name": "order", "schema.version": "2"},
    "TimestampConverter": {"field": "id", "target.type": "string", "format": "yyyy-MM-dd"},
    "DropHeaders": {"headers": "trace"},
    "Filter": {},
    "PythonUdf": {"function": "tests.support.user_functions:same"},
    "InsertHeader": {"header": "site", "value.literal": "17"},
    "RegexRouter": {"regex": "top(.*)", "replacement": "bot$1"},
    "TimestampRouter": {},
    "ValueToKey": {"fields": "id"},
}

_OTHER_VALUES: Mapping[str, Sequence[tuple[Schema | None, Any]]] = {
    "SetSchemaMetadata": _VALUES[:1],
    "TimestampConverter": ((None, {"id": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)}),),
}


def _case(name: str, target: str) -> TransformationCase:
    simple, _, part = name.rpartition(".")[2].partition("$")
    values = _OTHER_VALUES.get(simple, _VALUES)
    return TransformationCase(
        name=simple + part,
        transformation=cast("type[Transformation]", load_target(target)),
        config=_CONFIGS[simple],
        values=() if part == "Key" else values,
    )


CASES: list[Case] = [
    *(_case(name, target) for name, target in TRANSFORMATIONS if name != "headrace.SparkSql"),
    PredicateCase(predicate=HasHeaderKey, config={"name": "trace"}),
    PredicateCase(predicate=RecordIsTombstone),
    PredicateCase(predicate=TopicNameMatches, config={"pattern": "to.*"}),
]
