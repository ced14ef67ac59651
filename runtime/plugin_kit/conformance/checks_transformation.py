"""Checks of transformations and predicates: odd records, records that stay unchanged, equal results for batches."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from runtime.api.data.batch import SinkBatch
from runtime.api.data.columns import ConstantColumn, MixedBatchError, ValueBatch, batch_method
from runtime.api.data.record import Headers, SinkRecord, SourceRecord
from runtime.api.data.schema import STRING_SCHEMA, Schema
from runtime.api.errors import ConnectError, DataError
from runtime.api.transformation import KeyOrValueTransformation, Predicate, RecordPart, Transformation
from runtime.pipeline.preview.samples import SampleMessage
from runtime.plugin_kit.conformance.case import VALUES, PredicateCase, TransformationCase
from runtime.plugin_kit.conformance.checks_definition import configured
from runtime.plugin_kit.conformance.outcome import CheckFailed, CheckSkipped

_TIME = 1_700_000_000_000
_BATCH = 3  # records of a batch

Values = Sequence[tuple[Schema | None, Any]]


@contextmanager
def _opened(case: TransformationCase | PredicateCase) -> Iterator[Any]:
    with case.opened() as config:
        plugin = configured(case, config)
        try:
            yield plugin
        finally:
            plugin.close()


def _source_record(
    schema: Schema | None, value: Any, key: Any = None, key_schema: Schema | None = None
) -> SourceRecord:
    headers: Headers = [("trace", STRING_SCHEMA, "1")]
    return SourceRecord({"p": 1}, {"o": 1}, "topic", value, schema, key, key_schema, None, _TIME, headers)


def _sink_record(schema: Schema | None, value: Any, key: Any = None, key_schema: Schema | None = None) -> SinkRecord:
    headers: Headers = [("trace", STRING_SCHEMA, "1")]
    return SinkRecord("topic", 0, key_schema, key, schema, value, 7, _TIME, 0, headers)


def _records(values: Values) -> Iterator[SourceRecord | SinkRecord]:
    """Records with each of these values, as value and as key."""
    for schema, value in values:
        yield _source_record(schema, copy.deepcopy(value), "key", STRING_SCHEMA)
        yield _sink_record(schema, copy.deepcopy(value), copy.deepcopy(value), schema)


def _bare_records(values: Values) -> Iterator[SourceRecord]:
    """Records without key, headers and timestamp."""
    for schema, value in values:
        bare = _source_record(schema, copy.deepcopy(value))
        bare.headers, bare.timestamp = None, None
        yield bare


def _parts(record: SourceRecord | SinkRecord) -> dict[str, Any]:
    names = [name for name in type(record).__slots__ if not name.startswith("_")]
    return {name: getattr(record, name) for name in names}


def applies(case: TransformationCase) -> str:
    """The example's records are transformed; headers and values of the original are not changed in place."""
    count = 0
    with _opened(case) as transformation:
        for record in _records(case.values or VALUES[2:3]):
            before = copy.deepcopy(_parts(record))
            shared = _parts(record)
            try:
                result = transformation.apply(record)
            except ConnectError as error:
                if case.values:
                    raise CheckFailed(
                        f"apply() refuses the example's value {before['value']!r}: {error}",
                        "Correct the example's values, or the transformation",
                    ) from error
                continue
            count += 1
            if result is not None and type(result) is not type(record):
                raise CheckFailed(
                    f"apply() returned {result!r}", "Return a record of the same class, or None to drop it"
                )
            _check_not_mutated(before, shared)
    return f"{count} records"


def _check_not_mutated(before: dict[str, Any], shared: dict[str, Any]) -> None:
    for name in ("key", "value", "headers"):
        if shared[name] != before[name]:
            raise CheckFailed(
                f"apply() changed the record's {name} in place: {before[name]!r} became {shared[name]!r}",
                f"Assign a new {name} instead: other records may share the old one",
            )


def odd_records(case: TransformationCase) -> str:
    """Null, missing and unexpected values are transformed, dropped or refused with DataError, never with another
    error; a refused record is unchanged."""
    passed = refused = 0
    with _opened(case) as transformation:
        for record in (*_records(VALUES), *_bare_records(VALUES)):
            before = copy.deepcopy(_parts(record))
            try:
                transformation.apply(record)
                passed += 1
            except DataError:
                refused += 1
                if _parts(record) != before:
                    raise CheckFailed(
                        f"apply() has changed a record that it refuses, whose value is {before['value']!r}",
                        "Assign to the record last: the worker may send it to the dead letter queue",
                    ) from None
            except Exception as error:  # third-party code
                raise CheckFailed(
                    f"apply() raised {type(error).__name__} for the value {before['value']!r} "
                    f"({'no schema' if before['value_schema'] is None else before['value_schema'].type.name}): {error}",
                    "Raise DataError for records that cannot be transformed, with the reason",
                ) from error
    return f"{passed} passed, {refused} refused"


def batches(case: TransformationCase) -> str:
    """If whole batches are transformed, the results are those of single records."""
    with _opened(case) as transformation:
        own = isinstance(transformation, KeyOrValueTransformation)
        single, name = ("update", "update_batch") if own else ("apply", "apply_batch")
        method = batch_method(transformation, single, name)
        base = getattr(KeyOrValueTransformation if own else Transformation, name)
        if method is None or getattr(method, "__func__", None) is base:
            raise CheckSkipped("the plugin handles single records only")
        compared = sum(_same_batch(transformation, method, *value) for value in (*case.values, *VALUES))
    return f"{compared} batches"


def _same_batch(transformation: Transformation, method: Any, schema: Schema | None, value: Any) -> bool:
    """Whether the batch was processed as a batch, with the same result."""
    of_key = isinstance(transformation, KeyOrValueTransformation) and transformation.part is RecordPart.KEY
    batch = _batch(schema, value)
    try:
        changed = method(batch.keys if of_key else batch.values, batch)
    except Exception:  # the worker then processes the records one by one
        return False
    if changed is None:
        return False
    try:
        expected = [transformation.apply(record) for record in _batch(schema, value).records]
    except DataError as error:
        raise CheckFailed(
            f"For the value {value!r} a batch is transformed, but a single record is refused: {error}",
            "Return None from the batch method for values that single records refuse",
        ) from error
    left = [record for record in expected if record is not None]
    part = [record.key if of_key else record.value for record in left]
    if list(changed.rows) != part:
        raise CheckFailed(
            f"For the value {value!r} a batch becomes {list(changed.rows)!r}, but single records become {part!r}",
            "Both methods must have the same result",
        )
    return True


def _batch(schema: Schema | None, value: Any) -> SinkBatch:
    messages = [SampleMessage("topic", 0, 7 + n, _TIME, None, None) for n in range(_BATCH)]
    values = ValueBatch(schema, [copy.deepcopy(value) for _ in range(_BATCH)])
    keys = ValueBatch(schema, [copy.deepcopy(value) for _ in range(_BATCH)])
    return SinkBatch("topic", messages, keys, values, ConstantColumn(None, _BATCH))


def decides(case: PredicateCase) -> str:
    """test() returns True or False for every record, and never raises another error than DataError."""
    responses = {True: 0, False: 0}
    with _opened(case) as predicate:
        for record in (*_records(VALUES), *_bare_records(VALUES)):
            try:
                response = predicate.test(record)
            except DataError:
                continue
            except Exception as error:  # third-party code
                raise CheckFailed(
                    f"test() raised {type(error).__name__} for the value {record.value!r}: {error}",
                    "Return False for records without what is asked for",
                ) from error
            if not isinstance(response, bool):
                raise CheckFailed(f"test() returned {response!r}", "Return True or False")
            responses[response] += 1
    return f"{responses[True]} match, {responses[False]} do not"


def decides_batches(case: PredicateCase) -> str:
    """If whole batches are tested, the responses are those of single records."""
    with _opened(case) as predicate:
        method = batch_method(predicate, "test", "test_batch")
        if method is None or getattr(method, "__func__", None) is Predicate.test_batch:
            raise CheckSkipped("the plugin handles single records only")
        compared = 0
        for schema, value in VALUES:
            batch = _batch(schema, value)
            try:
                response = method(batch.values, batch)
            except MixedBatchError:
                continue
            if response is None:
                continue
            compared += 1
            if any(predicate.test(record) is not response for record in batch.records):
                raise CheckFailed(
                    f"test_batch() returned {response} for the value {value!r}, but test() the opposite",
                    "Both methods must have the same result",
                )
    return f"{compared} batches"
