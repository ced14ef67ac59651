"""Readers of files: Parquet, JSON lines, CSV and Avro, block by block.

A row is a record: the n-th of a Parquet or Avro file, the n-th line of JSON that is not blank, the n-th line of a CSV
file after the header. Reading may start at any row.
"""

from __future__ import annotations

import csv
import struct
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from io import StringIO
from typing import Any, NamedTuple
from uuid import UUID

import orjson
import pyarrow as pa

from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.api.errors import DataError
from runtime.connectors.files.arrow_values import ArrowValues
from runtime.connectors.files.folder_store import FileError, FolderStore, ListedFile
from runtime.connectors.files.formats import FileFormat, compression_of, format_of
from runtime.connectors.files.source.cursor import PATH, BlockSpan, FileCursor
from runtime.connectors.files.source.definition import FilesSourceSettings
from runtime.connectors.files.source.opened_file import Fingerprint, OpenedFile, UnreadableError
from runtime.connectors.files.source.text_blocks import CsvEnds, LineEnds, text_blocks


class FileReading:
    """Reads a file from a cursor on. `finished`: no more is expected to be written to the file."""

    def __init__(
        self, store: FolderStore, settings: FilesSourceSettings, file: ListedFile, cursor: FileCursor, finished: bool
    ) -> None:
        self.file, self.cursor, self.finished = file, cursor, finished
        self._store, self._topic = store, settings.topic
        kind = settings.format or format_of(file.path)
        assert kind is not None
        read = ReadSettings(settings.batch_size, settings.delimiter, settings.header, settings.columns)
        self._rows = read_rows(OpenedFile(store, file, cursor, self._is_settled), kind, read)

    def next(self) -> SourceBatch | None:
        """The next rows; None if there are no more complete ones. Raises FileError if the file cannot be read."""
        rows = next(self._rows, None)
        return None if rows is None else self._batch(rows)

    def close(self) -> None:
        if isinstance(self._rows, Generator):
            self._rows.close()

    def _batch(self, rows: FileRows) -> SourceBatch:
        file = self.file

        def offset_of(number: int) -> Mapping[str, Any]:
            return FileCursor.after(file, rows.span, rows.first + number + 1).offset

        self.cursor = FileCursor.after(file, rows.span, rows.first + rows.values.count)
        return SourceBatch({PATH: file.path}, offset_of, self._topic, rows.values)

    def _is_settled(self) -> bool:
        """Whether what was read up to the end of the file is all that will be written."""
        return self.finished and self._store.is_unchanged(self.file)


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """How files are read. `columns` names the fields of CSV files without a header."""

    rows: int  # most rows of a block
    delimiter: str = ","
    header: bool = True
    columns: tuple[str, ...] = ()


class FileRows(NamedTuple):
    """Rows from number `first`, and the block of the file to which they belong."""

    values: ValueBatch
    first: int
    span: BlockSpan


def read_rows(opened: OpenedFile, kind: FileFormat, settings: ReadSettings) -> Iterator[FileRows]:
    """The complete rows of a file that have not been read. Raises FileError, with the file's name."""
    try:
        yield from _READERS[kind](opened, settings)
    except FileError:
        raise
    except _ERRORS as error:
        whole = kind in _WHOLE or compression_of(opened.path) is not None
        incomplete = whole and not isinstance(error, DataError)
        raise UnreadableError(f"Cannot read {opened.path} as {kind}: {error}", incomplete) from error


_ERRORS = (OSError, ValueError, pa.ArrowException, DataError, TypeError, KeyError, EOFError, IndexError, struct.error)
_WHOLE = (FileFormat.PARQUET, FileFormat.AVRO)
"""Formats whose readers cannot tell a file that is still being written from a damaged one."""


def _parts(
    opened: OpenedFile, settings: ReadSettings, span: BlockSpan, values: Callable[[int, int], ValueBatch]
) -> Iterator[FileRows]:
    """The rows of a block that have not been read. `values` gets the numbers, within the block, of a row and of the row
    after the last."""
    count = span.end_row - span.first_row
    for first in range(max(opened.cursor.row - span.first_row, 0), count, settings.rows):
        yield FileRows(values(first, min(first + settings.rows, count)), span.first_row + first, span)


def _parquet(opened: OpenedFile, settings: ReadSettings) -> Iterator[FileRows]:
    from pyarrow import parquet

    cursor = opened.cursor
    if cursor.check is None and not cursor.is_of(opened.file):
        raise opened.changed("it was written again")
    with opened.open() as source, parquet.ParquetFile(source) as file:
        to_values, check, row = ArrowValues(file.schema_arrow), blake2b(digest_size=8), 0
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            if not group.num_rows:
                continue
            check.update(repr(group.to_dict()).encode())
            last = number + 1 == file.num_row_groups
            span = BlockSpan(row, 0, row + group.num_rows, opened.file.size if last else 0, check.hexdigest())
            row = span.end_row
            is_checked = span.first_row < cursor.checked_row <= row
            if is_checked and (row != cursor.checked_row or check.hexdigest() != cursor.fingerprint):
                raise opened.changed("its row groups are not those that were read")
            if row > cursor.row:
                yield from _of_group(file, number, span, opened, settings, to_values)
        if row < cursor.checked_row:
            raise opened.changed(f"it has {row} rows")


def _of_group(
    file: Any, number: int, span: BlockSpan, opened: OpenedFile, settings: ReadSettings, to_values: ArrowValues
) -> Iterator[FileRows]:
    row = span.first_row
    for batch in file.iter_batches(settings.rows, row_groups=[number], use_threads=False):
        skipped = min(max(opened.cursor.row - row, 0), len(batch))
        row += skipped
        if skipped < len(batch):
            yield FileRows(to_values(batch.slice(skipped)), row, span)
        row += len(batch) - skipped


def _json(opened: OpenedFile, settings: ReadSettings) -> Iterator[FileRows]:
    row = opened.resume[1]
    for block in text_blocks(opened, LineEnds()):
        lines = [line for line in block.text.split(b"\n") if line.strip()]
        yield from _parts(opened, settings, block.span(row, len(lines)), _documents(lines, row))
        row += len(lines)


def _documents(lines: Sequence[bytes], row: int) -> Callable[[int, int], ValueBatch]:
    return lambda first, end: ValueBatch(
        None, [_document(line, row + first + place) for place, line in enumerate(lines[first:end])]
    )


def _document(line: bytes, row: int) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise DataError(f"row {row} is not valid JSON: {error}") from None


def _csv(opened: OpenedFile, settings: ReadSettings) -> Iterator[FileRows]:
    delimiter = "\t" if opened.path.partition(".tsv")[1] else settings.delimiter
    rows, row = CsvEnds(delimiter), opened.resume[1]
    first, complete = rows.first(opened) if settings.header or not settings.columns else (b"", True)
    names = settings.columns or _csv_names(first, settings.header, delimiter)
    if not names or not (complete or opened.is_settled()):
        return
    to_values = ArrowValues(pa.schema([(name, pa.string()) for name in names]))
    for block in text_blocks(opened, rows, len(first) if settings.header else 0):
        batch = _csv_batch(block.text, names, delimiter)
        yield from _parts(opened, settings, block.span(row, len(batch)), _slices(batch, to_values))
        row += len(batch)


def _csv_names(first: bytes, header: bool, delimiter: str) -> Sequence[str]:
    """The names of the columns; empty for an empty file."""
    text = StringIO(first.decode("utf-8-sig", "replace"), newline="")
    fields: list[str] = next(csv.reader(text, delimiter=delimiter), [])
    return fields if header else [f"column{number + 1}" for number in range(len(fields))]


def _csv_batch(text: bytes, names: Sequence[str], delimiter: str) -> Any:
    """The rows of a text as an Arrow record batch."""
    from pyarrow import csv as arrow

    read = arrow.ReadOptions(column_names=names, block_size=len(text) + 1, use_threads=False)
    parse = arrow.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    convert = arrow.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True,
                                   quoted_strings_can_be_null=False, null_values=[""])  # fmt: skip
    table = arrow.read_csv(pa.py_buffer(text), read, parse, convert) if text.strip() else None
    return pa.record_batch([pa.array([], pa.string())] * len(names), names) if table is None else _single_batch(table)


def _single_batch(table: Any) -> Any:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else table.schema.empty_table().to_batches()[0]


def _slices(batch: Any, to_values: ArrowValues) -> Callable[[int, int], ValueBatch]:
    return lambda first, end: to_values(batch.slice(first, end - first))


def _avro(opened: OpenedFile, settings: ReadSettings) -> Iterator[FileRows]:
    import fastavro

    from runtime.converters.avro.read import connect_schema as connect_of_avro

    with opened.open() as file:
        opened.verified(file)
        read = Fingerprint.of_file(file, opened.resume[0])
    with opened.recorded() as file:
        reader = fastavro.block_reader(file)
        schema, _ = connect_of_avro(_avro_document(reader.writer_schema), [])
        row = opened.resume[1]
        if read.position:
            file.take()
            file.jump(read.position)
        for block in reader:
            start = read.position
            read.add(file.take())
            span = BlockSpan(row, start, row + block.num_records, read.position, read.check)
            row = span.end_row
            if row > opened.cursor.row:
                yield from _parts(opened, settings, span, _avro_values(schema, block, reader.writer_schema))
    if read.position < opened.file.size and opened.is_settled():
        raise EOFError(f"its last block, at byte {read.position}, is incomplete")


def _avro_values(schema: Any, block: Any, document: Any) -> Callable[[int, int], ValueBatch]:
    plain: Callable[[Any], Any] = _without_uuids if "uuid" in str(document) else lambda value: value
    rows = [plain(value) for value in block]
    return lambda first, end: ValueBatch(schema, rows[first:end])


_AVRO_TIMES = {
    "timestamp-micros": ("long", "timestamp-millis"),
    "timestamp-nanos": ("long", "timestamp-millis"),
    "local-timestamp-millis": ("long", "timestamp-millis"),
    "local-timestamp-micros": ("long", "timestamp-millis"),
    "time-micros": ("int", "time-millis"),
}


def _avro_document(document: Any) -> Any:
    """The Avro schema with the logical types that Connect has. DataError for unions of several types."""
    if isinstance(document, list):
        branches = [branch for branch in document if branch != "null"]
        if len(branches) > 1:
            raise DataError("A union of several types has no type in Connect")
        return [_avro_document(branch) for branch in document]
    if not isinstance(document, Mapping):
        return document
    schema = {key: value for key, value in document.items() if not key.startswith("__")}
    if schema.get("logicalType") in _AVRO_TIMES:
        schema["type"], schema["logicalType"] = _AVRO_TIMES[schema["logicalType"]]
    for key in ("type", "items", "values"):
        if isinstance(schema.get(key), list | Mapping):
            schema[key] = _avro_document(schema[key])
    if "fields" in schema:
        schema["fields"] = [{**field, "type": _avro_document(field["type"])} for field in schema["fields"]]
    return schema


def _without_uuids(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, dict):
        return {key: _without_uuids(item) for key, item in value.items()}
    return [_without_uuids(item) for item in value] if isinstance(value, list) else value


_READERS: Mapping[FileFormat, Callable[[OpenedFile, ReadSettings], Iterator[FileRows]]] = {
    FileFormat.PARQUET: _parquet,
    FileFormat.JSON: _json,
    FileFormat.CSV: _csv,
    FileFormat.AVRO: _avro,
}
