"""The content of files before they are written: which records fit, and their rows in memory or on disk.

All files of a file set with the same topic have the same schema, which is merged from their records. Whether a record
fits depends on the records before it in the file set, never on how they are divided into batches.
"""

from __future__ import annotations

import base64
import datetime as dt
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import IO, Any

import orjson
import pyarrow as pa

from runtime.api.data.columns import ValueBatch, selected
from runtime.api.data.schema import Schema
from runtime.api.errors import ConnectError
from runtime.connectors.files.arrow_merge import (
    MergeError,
    floating_paths,
    large_integers,
    merged_schema,
)
from runtime.connectors.files.sink.records_to_arrow import CONVERSION_ERRORS, ArrowConversion


@dataclass(frozen=True, slots=True)
class Accepted:
    """The first records of a chunk, which fit. The record behind them starts another file, unless `error` is set: then
    it cannot be converted at all."""

    count: int
    rows: Any
    error: Exception | None = None


class RowBuffer(ABC):
    """The rows of one file."""

    def __init__(self) -> None:
        self.size = 0  # bytes in memory
        self._rows: list[Any] = []
        self._file: IO[bytes] | None = None

    @abstractmethod
    def add(self, rows: Any) -> None:
        """Adds rows that a Content has accepted."""

    def spill(self) -> None:
        """Moves the rows from memory to a temporary file. ConnectError if that cannot be written; the rows are then
        incomplete."""
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="headrace-")  # noqa: SIM115 - closed by discard()
            self._write(self._file)
            self._file.flush()
        except OSError as error:
            raise ConnectError(f"Cannot write to the temporary folder {tempfile.gettempdir()}: {error}") from None
        self._rows, self.size = [], 0

    @abstractmethod
    def _write(self, file: IO[bytes]) -> None:
        """Writes the rows in memory to the end of the temporary file."""

    def discard(self) -> None:
        """Frees memory and disk."""
        self._rows, self.size = [], 0
        if self._file is not None:
            self._file.close()
            self._file = None


class Content(ABC):
    """What the files of a file set with one topic have in common."""

    @abstractmethod
    def accept(self, values: ValueBatch) -> Accepted:
        """As many of the first values as fit."""

    @abstractmethod
    def take(self, rows: Any, places: Sequence[int]) -> Any:
        """Some of the accepted rows."""

    @abstractmethod
    def buffer(self) -> RowBuffer:
        """A buffer for the rows of another file."""


class LineContent(Content):
    """Each value is a line of JSON."""

    def accept(self, values: ValueBatch) -> Accepted:
        lines: list[bytes] = []
        for row in values.rows:
            try:
                lines.append(json_text(row))
            except (TypeError, ValueError) as error:
                return Accepted(len(lines), lines, error)
        return Accepted(len(lines), lines)

    def take(self, rows: list[bytes], places: Sequence[int]) -> list[bytes]:
        return [rows[place] for place in places]

    def buffer(self) -> LineRows:
        return LineRows()


def json_text(value: Any) -> bytes:
    """A value as JSON in one line: decimals as text, bytes as Base64, times in ISO 8601, and so the keys of maps.
    TypeError or ValueError if it has no JSON form."""
    try:
        return orjson.dumps(value, _json_default, orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z)
    except TypeError as error:
        try:
            keyed = _with_text_keys(value)
        except RecursionError:
            raise error from None
        return orjson.dumps(keyed, _json_default, orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z)


def _with_text_keys(value: Any) -> Any:
    """A value in which keys of maps that orjson does not know are texts."""
    if isinstance(value, Mapping):
        return {
            _json_default(key) if isinstance(key, Decimal | bytes) else key: _with_text_keys(item)
            for key, item in value.items()
        }
    return [_with_text_keys(item) for item in value] if isinstance(value, list) else value


def _json_default(value: Any) -> Any:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    raise TypeError(f"{type(value).__name__} has no JSON form")


class LineRows(RowBuffer):
    """Lines of text."""

    def add(self, rows: list[bytes]) -> None:
        text = b"\n".join(rows) + b"\n"
        self._rows.append(text)
        self.size += len(text)

    def _write(self, file: IO[bytes]) -> None:
        file.writelines(self._rows)

    def blocks(self) -> Iterator[bytes]:
        """The text in blocks."""
        if self._file is not None:
            self._file.seek(0)
            while block := self._file.read(1 << 20):
                yield block
        yield from self._rows


class ArrowContent(Content):
    """The values as record batches with a common, merged schema."""

    def __init__(
        self, conversion: ArrowConversion, merges: bool, check: Callable[[Any], object] = lambda schema: None
    ) -> None:
        """`merges`: records with different Connect schemas may share a file; otherwise another schema starts another
        file. Values without a schema are merged in either case. `check` raises DataError for a schema that files cannot
        have."""
        self._conversion, self._merges, self._check = conversion, merges, check
        self.schema: Any = None
        self._connect: Schema | None = None
        self._large: set[str] = set()

    def accept(self, values: ValueBatch) -> Accepted:
        if not self._merges and self.schema is not None and values.schema != self._connect:
            return Accepted(0, None)
        failure: Exception
        try:
            return Accepted(values.count, self._merged(values))
        except CONVERSION_ERRORS as error:
            failure = error
        except MergeError as error:
            failure = error
        fitting = self._fitting(values)
        rows = self._merged(selected(values, range(fitting))) if fitting else None
        try:
            self._check(self._conversion.record_batch(selected(values, range(fitting, fitting + 1))).schema)
        except CONVERSION_ERRORS as error:
            return Accepted(fitting, rows, error)
        return Accepted(fitting, rows, failure if self.schema is None else None)

    def _fitting(self, values: ValueBatch) -> int:
        """The largest number of first values that fit."""
        fits, fails = 0, values.count
        while fails - fits > 1:
            middle = (fits + fails) // 2
            try:
                self._merge(self._conversion.record_batch(selected(values, range(middle))))
                fits = middle
            except (MergeError, *CONVERSION_ERRORS):
                fails = middle
        return fits

    def _merged(self, values: ValueBatch) -> Any:
        batch = self._conversion.record_batch(values)
        self.schema, self._large = self._merge(batch)
        self._connect = values.schema
        return batch

    def _merge(self, batch: Any) -> tuple[Any, set[str]]:
        """The schema and the paths of large integers after adding this batch; MergeError if it does not fit."""
        known = self.schema
        if known is not None and batch.schema.equals(known) and not floating_paths(known):
            return known, self._large | large_integers(batch)
        merged = batch.schema if known is None else merged_schema(known, batch.schema)
        self._check(merged)
        large = self._large | large_integers(batch)
        inexact = large & floating_paths(merged)
        if inexact:
            raise MergeError(f"{min(inexact)} has integers of more than 53 bits and floating-point numbers")
        return merged, large

    def take(self, rows: Any, places: Sequence[int]) -> Any:
        return rows.take(pa.array(places, pa.int64()))

    def buffer(self) -> ArrowRows:
        return ArrowRows(self)


class ArrowRows(RowBuffer):
    """Record batches, each with its own schema until the file is written."""

    def __init__(self, content: ArrowContent) -> None:
        super().__init__()
        self.content = content
        self._streams: list[int] = []  # positions in the temporary file

    def add(self, rows: Any) -> None:
        self._rows.append(rows)
        self.size += rows.nbytes

    def _write(self, file: IO[bytes]) -> None:
        for batch in self._rows:
            self._streams.append(file.tell())
            with pa.ipc.new_stream(file, batch.schema) as stream:
                stream.write_batch(batch)

    def batches(self) -> Iterator[Any]:
        """The record batches in their order."""
        for position in self._streams:
            assert self._file is not None
            self._file.seek(position)
            with pa.ipc.open_stream(self._file) as stream:
                yield from stream
        yield from self._rows

    def discard(self) -> None:
        super().discard()
        self._streams = []
