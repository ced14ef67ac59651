"""Batch processing gives the same records as processing record by record, for any mix of records."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.api.data.batch import SinkBatch, SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.api.data.java_text import java_text
from runtime.api.data.java_text_columns import java_texts
from runtime.api.data.record import SinkRecord, SourceRecord, TopicPartition
from runtime.api.data.schema import INT32_SCHEMA, OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Field, Schema, Type
from runtime.api.task import SourceTask
from runtime.api.transformation import Transformation
from runtime.connectors.file_source import FileStreamSourceTask
from runtime.converters.header import SimpleHeaderConverter
from runtime.converters.string import StringConverter
from runtime.pipeline.chain.chain import Chain
from runtime.pipeline.chain.step import ChainStep
from runtime.pipeline.load import Converters
from runtime.pipeline.sink.convert_sink import SinkConversion, sink_place
from runtime.pipeline.source.convert_source import SourceConversion, source_place
from runtime.pipeline.source.source_offsets import CommittedOffsets
from runtime.pipeline.task.failure import Failure
from runtime.pipeline.tolerance import Tolerance
from tests.support.tasks.json_converter import json_converter
from tests.support.tasks.python_messages import Message
from tests.support.tasks.transforms import predicate, tolerance, transformation

INNER = Schema(Type.STRUCT, optional=True, fields=(Field("d", Schema(Type.INT32, optional=True, default=5)),))
LINE = Schema(
    Type.STRUCT,
    fields=(
        Field("a", INT32_SCHEMA), Field("b", OPTIONAL_STRING_SCHEMA), Field("c", INNER),
        Field("t", Schema(Type.STRING, optional=True, default="dflt")),
    ),
)  # fmt: skip
OTHER = Schema(
    Type.STRUCT, name="n", fields=(Field("a", STRING_SCHEMA), Field("t", OPTIONAL_STRING_SCHEMA), Field("c", INNER))
)
STEPS: list[Transformation] = [
    transformation(
        "InsertField$Value", {"static.field": "s", "static.value": "v", "offset.field": "o", "topic.field": "top"}
    ),
    transformation("InsertField$Value", {"partition.field": "p", "timestamp.field": "ts"}),
    transformation("InsertField$Value", {"static.field": "s2", "static.value": "v"}),
    transformation("ReplaceField$Value", {"renames": "b:bb"}),
    transformation("ReplaceField$Value", {"exclude": "c"}),
    transformation("ReplaceField$Value", {"include": "a,b,line", "replace.null.with.default": "false"}),
    transformation("ExtractField$Value", {"field": "a"}),
    transformation("ExtractField$Value", {"field": "t"}),
    transformation("ExtractField$Value", {"field": "c.d", "field.syntax.version": "V2"}),
    transformation("HoistField$Value", {"field": "line"}),
    transformation("Cast$Value", {"spec": "a:string"}),
    transformation("Cast$Value", {"spec": "a:int8,b:int32"}),
    transformation("Cast$Value", {"spec": "string"}),
    transformation("MaskField$Value", {"fields": "a,b"}),
    transformation("MaskField$Value", {"fields": "b", "replacement": "xx"}),
    transformation("Flatten$Value", {}),
    transformation("SetSchemaMetadata$Value", {"schema.name": "n", "schema.version": "2"}),
    transformation("TimestampConverter$Value", {"field": "ts", "target.type": "unix"}),
    transformation("TimestampConverter$Value", {"target.type": "string", "format": "yyyy"}),
    transformation("HoistField$Key", {"field": "k"}),
    transformation("RegexRouter", {"regex": "t(.*)", "replacement": "u$1"}),
    transformation("ValueToKey", {"fields": "a"}),
    transformation("Filter", {}),
    transformation("ReplaceField$Value", {"include": "zz"}),
    transformation("ValueToKey", {"fields": "b,t"}),
    transformation("ValueToKey", {"fields": "line", "replace.null.with.default": "false"}),
    transformation("ExtractField$Key", {"field": "a"}),
    transformation("ExtractField$Key", {"field": "line"}),
    transformation("InsertField$Key", {"topic.field": "top", "timestamp.field": "ts"}),
    transformation("Cast$Key", {"spec": "string"}),
    transformation("ReplaceField$Key", {"exclude": "b"}),
    transformation("InsertHeader", {"header": "h", "value.literal": "17"}),
    transformation("InsertHeader", {"header": "g", "value.literal": "[1,2]"}),
    transformation("DropHeaders", {"headers": "h"}),
    transformation("DropHeaders", {"headers": "g,a"}),
    transformation("HeaderFrom$Value", {"fields": "a,b", "headers": "a,h", "operation": "copy"}),
    transformation("HeaderFrom$Value", {"fields": "t", "headers": "a", "operation": "move"}),
    transformation(
        "HeaderFrom$Value",
        {"fields": "a,t", "headers": "a,b", "operation": "move", "replace.null.with.default": "false"},
    ),
    transformation("HeaderFrom$Key", {"fields": "a", "headers": "h", "operation": "move"}),
    transformation("HeaderFrom$Key", {"fields": "b,k", "headers": "h,k", "operation": "copy"}),
    transformation("TimestampRouter", {}),
    transformation("TimestampRouter", {"topic.format": "${timestamp}-t", "timestamp.format": "HHmmss.SSS"}),
    transformation("TimestampRouter", {"timestamp.format": "no pattern"}),
    transformation(
        "TimestampConverter$Value", {"field": "b", "target.type": "Timestamp", "format": "yyyy-MM-dd HH:mm:ss"}
    ),
    transformation("ExtractField$Value", {"field": "c"}),
    transformation("Flatten$Key", {}),
]
PREDICATES = [
    predicate("RecordIsTombstone", {}),
    predicate("TopicNameMatches", {"pattern": "t+"}),
    predicate("HasHeaderKey", {"name": "h"}),
]
CHAINS = st.lists(
    st.builds(
        ChainStep, st.sampled_from(STEPS), st.sampled_from([None, None, None, *PREDICATES]), st.booleans(),
    ),
    max_size=4,
)  # fmt: skip
STRUCTS = st.fixed_dictionaries(
    {
        "a": st.integers(-300, 300), "t": st.sampled_from([None, "u"]),
        "b": st.sampled_from([None, "x", "y", "12", "2024-02-29 23:59:59"]),
        "c": st.none() | st.fixed_dictionaries({"d": st.none() | st.integers(0, 3)}),
    }
)  # fmt: skip
MAPS = st.dictionaries(st.sampled_from("abcts"), st.sampled_from([None, 1, "7", 1.5, {"d": 1}]), max_size=5)


ENVELOPES = STRUCTS.map(lambda value: json_converter(True).from_connect("t", LINE, value))
OTHERS = STRUCTS.map(lambda value: json_converter(True).from_connect("t", OTHER, {**value, "a": str(value["a"])}))
OBJECTS = MAPS.map(lambda value: json_converter(False).from_connect("t", None, value))
ODD = st.sampled_from([None, b"{", b"", b'{"schema":null,"payload":1}', b'"text"', b"null"])


def _seen(record: Any) -> tuple[Any, ...]:
    """All attributes of a record and its text, which may differ between equal values."""
    parts = tuple(getattr(record, name) for name in type(record).__slots__ if name != "source")
    return (*parts, java_text(record.value, record.value_schema))


def _counted(errors: Tolerance) -> tuple[int, ...]:
    counts = errors.counts
    return counts.failures, counts.errors, counts.skipped, counts.retries


class RecordingReporter:
    """Records the reported failures, in order."""

    def __init__(self) -> None:
        self.reported: list[Any] = []

    def report(self, failure: Failure) -> None:
        offset = failure.record.offset()
        self.reported.append((offset, failure.stage, failure.plugin, repr(failure.error), failure.where))


def _sunk(steps: list[ChainStep], schemas: bool, messages: list[Message], way: str, **policy: Any) -> Any:
    """`way`: "together"; "transformed" together, but converted one by one; "each" record by itself."""
    letters = RecordingReporter()
    errors: Tolerance = tolerance(letters, **policy)
    converters = Converters(StringConverter(), json_converter(schemas), SimpleHeaderConverter())
    conversion = SinkConversion(converters, Chain(steps, errors, sink_place), errors, min_average=1)
    if way != "together":
        conversion._batches._values = None
    if way == "each":
        conversion._regroups = False
    assigned = {TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("v", 0)}
    try:
        records, positions = conversion.convert(messages, assigned)
    except Exception as error:
        return repr(error), repr(error.__cause__), _counted(errors), letters.reported
    texts = java_texts(records.values) if isinstance(records, SinkBatch) else [_seen(record)[-1] for record in records]
    return [_seen(record) for record in records], positions, _counted(errors), list(texts), letters.reported


@st.composite
def _messages(draw: st.DrawFn, schemas: bool) -> list[Message]:
    usual = draw(st.sampled_from([ENVELOPES, ENVELOPES | OTHERS])) if schemas else OBJECTS
    values = draw(st.lists(usual if draw(st.booleans()) else usual | ODD, min_size=1, max_size=6))
    keys = st.sampled_from([None, b"k"]) if draw(st.booleans()) else st.none()
    headers: st.SearchStrategy[list[tuple[str, bytes | None]] | None]
    headers = st.sampled_from([None, [("h", b"1")], [("g", None), ("h", b"x"), ("h", b"2")]])
    headers = headers if draw(st.booleans()) else st.none()
    topics = st.sampled_from("tv") if draw(st.booleans()) else st.just("t")
    times = st.sampled_from([-1, 0, 86_400_000, 5]) if draw(st.booleans()) else st.integers(0, 9)
    return [
        Message(
            n, value, draw(keys), draw(headers), draw(topics), draw(st.integers(0, 2)) if n % 5 == 4 else 0, draw(times)
        )
        for n, value in enumerate(values)
    ]


@settings(max_examples=250)
@given(CHAINS, st.data(), st.booleans(), st.booleans())
def test_sink_records(steps: list[ChainStep], data: st.DataObject, schemas: bool, tolerate_all: bool) -> None:
    messages = data.draw(_messages(schemas))
    policy = {"tolerate_all": tolerate_all}
    expected = _sunk(steps, schemas, messages, "each", **policy)
    assert _sunk(steps, schemas, messages, "together", **policy) == expected
    assert _sunk(steps, schemas, messages, "transformed", **policy) == expected


class PlainTask(SourceTask):
    """A task with the default flags."""

    def start(self, config: Any) -> None: ...

    def poll(self) -> None: ...


def _sourced(
    steps: list[ChainStep], schemas: bool | None, records: Any, together: bool, task: SourceTask, policy: Any
) -> Any:
    """The records sent. `schemas` is for JSON values with keys as text; with None, values are text and keys JSON."""
    errors = tolerance(**policy)
    converters = Converters(StringConverter(), json_converter(bool(schemas)), SimpleHeaderConverter())
    if schemas is None:
        converters = Converters(json_converter(True), StringConverter(), SimpleHeaderConverter())
    offsets = CommittedOffsets("c", [])
    conversion = SourceConversion(Chain(steps, errors, source_place), converters, offsets, errors, task)
    if not together:
        conversion._values = None
    batch = conversion.convert(records)
    return (
        [(r.topic, message) for r in batch.runs for message in r.messages],
        batch.offsets,
        repr(batch.error),
        _counted(errors),
    )


SCHEMAS = st.sampled_from([True, False, None])
_TYPED = st.tuples(st.just(LINE), STRUCTS)
_ANY = st.sampled_from([(None, None), (STRING_SCHEMA, "text"), (OPTIONAL_STRING_SCHEMA, None), (LINE, {"a": "no"})])
_NULLS = st.sampled_from([(OPTIONAL_STRING_SCHEMA, None), (OPTIONAL_STRING_SCHEMA, "x")])


@settings(max_examples=250)
@given(CHAINS, st.data(), SCHEMAS, st.booleans(), st.sampled_from([PlainTask(), FileStreamSourceTask()]))
def test_source_records(
    steps: list[ChainStep], data: st.DataObject, schemas: bool | None, tolerate_all: bool, task: SourceTask
) -> None:
    usual = data.draw(st.sampled_from([_TYPED, _NULLS, st.tuples(st.none(), MAPS)]))
    found = data.draw(st.lists(usual if data.draw(st.booleans()) else usual | _ANY, min_size=1, max_size=6))
    odd = data.draw(st.booleans())
    partitions = [{"p": 1}, {"p": 2}]
    key_schema, key = data.draw(st.sampled_from([(None, None), (None, None), (STRING_SCHEMA, "k"), (None, {"a": 1})]))
    times = data.draw(st.sampled_from([0, 86_399_998]))
    headed: list[Any] = [None, [], [("h", None, 1)], [("g", INT32_SCHEMA, 2), ("h", None, None)]]
    some = data.draw(st.sampled_from([[None], headed]))
    headers = [data.draw(st.sampled_from(some)) for _ in found]

    def records() -> list[SourceRecord]:
        return [
            SourceRecord(
                partitions[odd and n > 2], {"n": n}, "tt" if odd and n == 4 else "t", value, schema,
                key=None if odd and n == 1 else key, key_schema=key_schema,
                timestamp=None if odd and n == 3 else times + n,
                headers=headers[n], kafka_partition=0 if odd and n == 5 else None,
            )
            for n, (schema, value) in enumerate(found)
        ]  # fmt: skip

    policy = {"tolerate_all": tolerate_all}
    expected = _sourced(steps, schemas, records(), False, task, policy)
    assert _sourced(steps, schemas, records(), True, task, policy) == expected


@settings(max_examples=200)
@given(CHAINS, st.lists(st.sampled_from(["", "x", "é\udc80", "a\nb"]), min_size=1, max_size=5), SCHEMAS)
def test_source_batches(steps: list[ChainStep], lines: list[str], schemas: bool | None) -> None:
    def batch() -> SourceBatch:
        return SourceBatch({"f": "x"}, lambda n: {"position": n}, "t", ValueBatch(STRING_SCHEMA, lines), 7)

    task = FileStreamSourceTask()
    expected = _sourced(steps, schemas, batch().records, False, task, {})
    assert _sourced(steps, schemas, batch(), True, task, {}) == expected


def test_a_typical_chain_processes_batches_without_creating_records() -> None:
    router = transformation("RegexRouter", {"regex": "t", "replacement": "u"})
    steps = [ChainStep(STEPS[1]), ChainStep(STEPS[4]), ChainStep(router), ChainStep(STEPS[6])]
    errors = tolerance()
    converters = Converters(StringConverter(), json_converter(True), SimpleHeaderConverter())
    conversion = SinkConversion(converters, Chain(steps, errors, sink_place), errors)
    value = json_converter(True).from_connect("t", LINE, {"a": 1, "b": "x", "c": None, "t": "u"})
    batch, positions = conversion.convert([Message(n, value, b"k") for n in range(9)], {TopicPartition("t", 0)})
    assert isinstance(batch, SinkBatch)
    assert batch._records is None
    assert list(batch.values.rows) == [1] * 9
    assert positions == {TopicPartition("t", 0): 9}
    assert isinstance(batch[0], SinkRecord) and batch[0].key == "k" and batch[3].original_kafka_offset == 3
    assert (batch[0].topic, batch[0].original_topic) == ("u", "t")


def test_maps_with_the_same_keys_are_processed_without_creating_records() -> None:
    steps = [
        ChainStep(transformation("InsertField$Value", {"partition.field": "p"})),
        ChainStep(transformation("ReplaceField$Value", {"renames": "a:aa", "exclude": "c"})),
        ChainStep(transformation("MaskField$Value", {"fields": "b"})),
        ChainStep(transformation("Cast$Value", {"spec": "p:string"})),
    ]
    errors = tolerance()
    converters = Converters(StringConverter(), json_converter(False), SimpleHeaderConverter())
    conversion = SinkConversion(converters, Chain(steps, errors, sink_place), errors)
    messages = [Message(n, b'{"a":%d,"b":"x","c":null}' % n) for n in range(3)]
    batch, _ = conversion.convert(messages, {TopicPartition("t", 0)})
    assert isinstance(batch, SinkBatch)
    assert batch._records is None
    assert batch.values._rows is None
    assert list(java_texts(batch.values)) == [java_text(value) for value in batch.values.rows]
    assert list(batch.values.rows) == [{"aa": n, "b": "", "p": "0"} for n in range(3)]


def test_value_to_key_and_predicates_process_batches_without_creating_records() -> None:
    steps = [
        ChainStep(transformation("ValueToKey", {"fields": "a"})),
        ChainStep(transformation("ExtractField$Key", {"field": "a"})),
        ChainStep(transformation("Filter", {}), predicate("RecordIsTombstone", {})),
        ChainStep(
            transformation("MaskField$Value", {"fields": "b"}),
            predicate("TopicNameMatches", {"pattern": "u"}),
            negate=True,
        ),
        ChainStep(transformation("HoistField$Value", {"field": "h"}), predicate("HasHeaderKey", {"name": "h"})),
    ]
    errors = tolerance()
    converters = Converters(StringConverter(), json_converter(False), SimpleHeaderConverter())
    conversion = SinkConversion(converters, Chain(steps, errors, sink_place), errors)
    batch, _ = conversion.convert([Message(n, b'{"a":%d,"b":"x"}' % n) for n in range(3)], {TopicPartition("t", 0)})
    assert isinstance(batch, SinkBatch)
    assert batch._records is None
    assert [(record.key, record.value) for record in batch] == [(n, {"a": n, "b": ""}) for n in range(3)]


def test_routers_and_headers_process_batches_without_creating_records() -> None:
    steps = [
        ChainStep(transformation("TimestampRouter", {"timestamp.format": "yyyyMMddHH"})),
        ChainStep(transformation("HeaderFrom$Value", {"fields": "a", "headers": "ha", "operation": "move"})),
        ChainStep(transformation("InsertHeader", {"header": "h", "value.literal": "17"})),
        ChainStep(transformation("DropHeaders", {"headers": "g"})),
        ChainStep(transformation("Filter", {}), predicate("HasHeaderKey", {"name": "h"}), negate=True),
    ]
    errors = tolerance()
    converters = Converters(StringConverter(), json_converter(False), SimpleHeaderConverter())
    conversion = SinkConversion(converters, Chain(steps, errors, sink_place), errors)
    messages = [Message(n, b'{"a":%d,"b":"x"}' % n, None, [("g", b"1")], _time=3_599_998 + n) for n in range(2)]
    batch, _ = conversion.convert(messages, {TopicPartition("t", 0)})
    assert isinstance(batch, SinkBatch)
    assert batch._records is None
    assert [(record.topic, record.value) for record in batch] == [("t-1970010100", {"b": "x"})] * 2
    assert [[(name, value) for name, _, value in record.headers or ()] for record in batch] == [
        [("ha", 0), ("h", 17)], [("ha", 1), ("h", 17)],
    ]  # fmt: skip
    batch, _ = conversion.convert([*messages, Message(2, b'{"a":2}', _time=3_600_000)], {TopicPartition("t", 0)})
    assert isinstance(batch, list)
    assert batch[2].topic == "t-1970010101"


def test_shared_headers_belong_to_each_record() -> None:
    batch = SourceBatch({"f": "x"}, lambda n: {"position": n}, "t", ValueBatch(STRING_SCHEMA, ["x", "y"]))
    transformation("InsertHeader", {"header": "h", "value.literal": "17"}).apply_batch(batch.values, batch)
    first, second = batch
    assert first.headers is not None
    first.headers.clear()
    assert second.headers and second.headers[0][2] == 17
