"""Batches that remain columns: nulls in fields with defaults, missing fields, different topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from runtime.api.data.batch import SinkBatch, SourceBatch
from runtime.api.data.columns import MixedBatchError, ValueBatch
from runtime.api.data.schema import STRING_SCHEMA, Field, Schema, Type
from runtime.pipeline.chain.chain import Chain
from runtime.pipeline.chain.step import ChainStep
from tests.support.tasks.python_messages import Message
from tests.support.tasks.transforms import predicate, tolerance, transformation

SCHEMA = Schema(
    Type.STRUCT,
    fields=(
        Field("n", Schema(Type.INT32, optional=True, default=7)), Field("s", Schema(Type.STRING, default="x")),
        Field("t", Schema(Type.INT64, optional=True)), Field("u", STRING_SCHEMA),
    ),
)  # fmt: skip
ROWS: list[dict[str, Any]] = [
    {"n": 1, "s": "a", "t": 1, "u": "u"}, {"n": None, "s": "b", "t": 2, "u": "u"}, {"s": None, "u": "u"},
]  # fmt: skip
STEPS: dict[str, dict[str, str]] = {
    "Cast$Value": {"spec": "n:int64,u:string"},
    "ExtractField$Value": {"field": "n"},
    "Flatten$Value": {},
    "HeaderFrom$Value": {"fields": "n,u", "headers": "a,b", "operation": "move"},
    "InsertField$Value": {"topic.field": "topic"},
    "MaskField$Value": {"fields": "u,n"},
    "ReplaceField$Value": {"renames": "n:m"},
    "SetSchemaMetadata$Value": {"schema.name": "new"},
    "TimestampConverter$Value": {"field": "t", "target.type": "Timestamp"},
    "ValueToKey": {"fields": "n,u"},
}


def _facts(records: Any) -> list[Any]:
    return [
        (
            one.topic,
            one.key_schema,
            one.key,
            one.value_schema,
            _filled(one.value_schema, one.value),
            one.headers or None,
        )
        for one in records
    ]


def _filled(schema: Schema | None, value: Any) -> Any:
    """A struct with its missing fields filled in."""
    if not isinstance(value, dict) or schema is None:
        return value
    return {field.name: value.get(field.name) for field in schema.fields}


@pytest.mark.parametrize(("name", "config"), STEPS.items())
def test_nulls_and_missing_fields(name: str, config: Mapping[str, str]) -> None:
    batch = SourceBatch({}, lambda n: {}, "topic", ValueBatch(SCHEMA, ROWS), 0)
    chain = Chain([ChainStep(transformation(name, config))], tolerance(), lambda record: (record, ""))
    [changed], steps = chain.run_batches([batch])
    assert steps == 1
    singly = chain.run([record.copy() for record in batch])
    assert _facts(changed) == _facts(singly.records)


def _sink_batch(times: list[int]) -> SinkBatch:
    messages = [Message(offset, b"", _time=time) for offset, time in enumerate(times)]
    count = len(times)
    return SinkBatch("t", messages, ValueBatch(None, [None] * count), ValueBatch(None, ["x"] * count), [None] * count)


def test_topics_that_contain_milliseconds() -> None:
    steps = [
        ChainStep(transformation("TimestampRouter", {"timestamp.format": "ss.SSS"})),
        ChainStep(transformation("RegexRouter", {"regex": "t-(.*)", "replacement": "r-$1"})),
        ChainStep(
            transformation("InsertField$Value", {"topic.field": "f"}), predicate("TopicNameMatches", {"pattern": "x"})
        ),
    ]
    batch = _sink_batch([1000, 1001, 1001, 2000])
    chain = Chain(steps, tolerance(), lambda record: (record, ""))
    [changed], done = chain.run_batches([batch])
    assert done == 3
    assert [record.topic for record in changed] == ["r-01.000", "r-01.001", "r-01.001", "r-02.000"]
    with pytest.raises(MixedBatchError):
        assert changed.topic
    assert batch.topic == "t"
