"""Checks of converters and header converters: values there and back, invalid values and bytes, equal batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from runtime.api.converter import Converter
from runtime.api.data.columns import ValueBatch, batch_method
from runtime.api.data.schema import Schema
from runtime.api.errors import DataError
from runtime.plugin_kit.conformance.case import VALUES, ConverterCase, HeaderConverterCase
from runtime.plugin_kit.conformance.checks_definition import configured
from runtime.plugin_kit.conformance.outcome import CheckFailed, CheckSkipped

_MALFORMED = (b"", b"\x00", b"\xff\xfe", b"{", b'{"schema": 1}', b"\x00\x00\x00\x00\x01", b"\xc3\x28" * 40)

Both = ConverterCase | HeaderConverterCase
ToBytes = Callable[[Schema | None, Any], bytes | None]
FromBytes = Callable[[bytes | None], tuple[Schema | None, Any]]


@contextmanager
def _opened(case: Both) -> Iterator[tuple[ToBytes, FromBytes]]:
    with case.opened() as config:
        plugin = configured(case, config)
        if isinstance(case, ConverterCase):
            yield (
                lambda schema, value: plugin.from_connect("topic", schema, value),
                lambda data: plugin.to_connect("topic", data),
            )
        else:
            yield (
                lambda schema, value: plugin.from_connect_header("topic", "header", schema, value),
                lambda data: plugin.to_connect_header("topic", "header", data),
            )


def there_and_back(case: Both) -> str:
    """The example's values become bytes, and these bytes the same values."""
    with _opened(case) as (to_bytes, from_bytes):
        for schema, value in case.values:
            data = to_bytes(schema, value)
            if data is not None and not isinstance(data, bytes):
                raise CheckFailed(f"{value!r} became {data!r}", "Return bytes, or None for a null")
            _, again = from_bytes(data)
            if again != value:
                raise CheckFailed(f"{value!r} became {data!r}, and these bytes {again!r}", "Read what you write")
    return f"{len(case.values)} values"


def nulls(case: Both) -> str:
    """A null without a schema becomes a null or bytes, and null bytes become a null: tombstones pass."""
    with _opened(case) as (to_bytes, from_bytes):
        try:
            _, value = from_bytes(None)
            data = to_bytes(None, None)
        except Exception as error:  # third-party code
            raise CheckFailed(
                f"{type(error).__name__} for a null: {error}", "A null record (tombstone) is not an error"
            ) from error
    if value is not None:
        raise CheckFailed(f"Null bytes became {value!r}", "Return None as the value")
    return "null" if data is None else repr(data)


def odd_values(case: Both) -> str:
    """Values of other types are converted, or refused with DataError."""
    passed = refused = 0
    with _opened(case) as (to_bytes, _):
        for schema, value in (*VALUES, *case.refused):
            try:
                to_bytes(schema, value)
                passed += 1
            except DataError:
                refused += 1
            except Exception as error:  # third-party code
                raise CheckFailed(
                    f"{type(error).__name__} for the value {value!r}: {error}", "Raise DataError with the reason"
                ) from error
        for schema, value in case.refused:
            _expect_data_error(lambda schema=schema, value=value: to_bytes(schema, value), f"the value {value!r}")  # type: ignore[misc]  # a default binds the loop variables
    return f"{passed} converted, {refused} refused"


def malformed_bytes(case: Both) -> str:
    """Bytes that another program has written are read, or refused with DataError."""
    passed = refused = 0
    with _opened(case) as (_, from_bytes):
        for data in (*_MALFORMED, *case.malformed):
            try:
                from_bytes(data)
                passed += 1
            except DataError:
                refused += 1
            except Exception as error:  # third-party code
                raise CheckFailed(
                    f"{type(error).__name__} for the bytes {data!r}: {error}", "Raise DataError with the reason"
                ) from error
        for data in case.malformed:
            _expect_data_error(lambda data=data: from_bytes(data), f"the bytes {data!r}")  # type: ignore[misc]  # a default binds the loop variable
    return f"{passed} read, {refused} refused"


def _expect_data_error(convert: Callable[[], object], what: str) -> None:
    try:
        result = convert()
    except DataError:
        return
    raise CheckFailed(f"No DataError for {what}: the result is {result!r}", "Refuse it, or correct the case")


def batches(case: ConverterCase) -> str:
    """If whole batches are converted, the results are those of single values."""
    with case.opened() as config:
        converter: Converter = configured(case, config)
        write = batch_method(converter, "from_connect", "from_connect_batch")
        read = batch_method(converter, "to_connect", "to_connect_batch")
        compared = sum(_same_batch(converter, write, read, schema, value) for schema, value in case.values)
    if not compared:
        raise CheckSkipped("the plugin handles single values only")
    return f"{compared} batches"


def _same_batch(converter: Converter, write: Any, read: Any, schema: Schema | None, value: Any) -> int:
    single = converter.from_connect("topic", schema, value)
    compared = 0
    written = _result(write, "topic", ValueBatch(schema, [value] * 3))
    if written is not None:
        compared += 1
        _expect_equal(list(written), [single] * 3, f"from_connect_batch() of three times {value!r}")
    if single is not None:
        values = _result(read, "topic", [single] * 3)
        if values is not None:
            compared += 1
            expected = [converter.to_connect("topic", single)[1]] * 3
            _expect_equal(list(values.rows), expected, f"to_connect_batch() of three times {single!r}")
    return compared


def _result(method: Any, *args: Any) -> Any:
    """The result of a batch method; None if it leaves the batch to the method for single values."""
    if method is None:
        return None
    try:
        return method(*args)
    except Exception:  # the worker then converts the values one by one
        return None


def _expect_equal(actual: Sequence[Any], expected: Sequence[Any], what: str) -> None:
    if actual != expected:
        raise CheckFailed(
            f"{what} is {actual!r}, but single values become {expected!r}", "Both methods must have the same result"
        )
