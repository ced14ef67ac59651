"""Readers of files: Parquet, JSON lines, CSV and Avro, block by block.

A row is a record: the n-th of a Parquet or Avro file, the n-th line of JSON that is not blank, the n-th line of a CSV
file after the header. Reading may start at any row.
"""

from __future__ import annotations

import json
import re
import struct
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any
from uuid import UUID

import orjson
import pyarrow as pa

from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.api.data.record import ErrantSourceRecord, SourceRecord
from runtime.api.errors import DataError
from runtime.connectors.files.arrow_values import ArrowValues
from runtime.connectors.files.folder_store import FileError, FolderStore, ListedFile
from runtime.connectors.files.formats import FileFormat, compression_of, format_of
from runtime.connectors.files.source.csv_rows import csv_rows
from runtime.connectors.files.source.cursor import PATH, BlockSpan, FileCursor
from runtime.connectors.files.source.definition import FilesSourceSettings
from runtime.connectors.files.source.opened_file import Fingerprint, OpenedFile, UnreadableError
from runtime.connectors.files.source.rows import FileRows, Piece, ReadSettings, UnreadableRows, block_rows
from runtime.connectors.files.source.text_blocks import LineEnds, text_blocks


class FileReading:
    """Reads a file from a cursor on. `finished`: no more is expected to be written to the file."""

    def __init__(
        self, store: FolderStore, settings: FilesSourceSettings, file: ListedFile, cursor: FileCursor, finished: bool
    ) -> None:
        self.file, self.cursor, self.finished = file, cursor, finished
        self._store, self._topic = store, settings.topic
        kind = settings.format or format_of(file.path)
        assert kind is not None
        read = ReadSettings(
            settings.batch_size, settings.delimiter, settings.header, settings.columns, settings.charset
        )
        self._kind, self._dead_letters, self._tolerant = kind, settings.dead_letters, settings.tolerant
        self._parts: deque[tuple[Sequence[SourceRecord], FileCursor]] = deque()
        self._rows = read_rows(OpenedFile(store, file, cursor, self._is_settled), kind, read)

    def next(self) -> Sequence[SourceRecord] | None:
        """The next rows; None if there are no more complete ones. Raises FileError if the file cannot be read. Unless
        errors are tolerated, an unreadable row is alone, so that the rows before it are a transaction of their own."""
        if not self._parts:
            rows = next(self._rows, None)
            if rows is None:
                return None
            self._parts.extend(self._parts_of(rows))
        if self._tolerant and len(self._parts) > 1:
            parts, self._parts = self._parts, deque()
            self.cursor = parts[-1][1]
            return [record for part, _ in parts for record in part]
        part, self.cursor = self._parts.popleft()
        return part

    def close(self) -> None:
        if isinstance(self._rows, Generator):
            self._rows.close()

    def _parts_of(self, rows: FileRows) -> Iterator[tuple[Sequence[SourceRecord], FileCursor]]:
        """The records of each piece, and the position behind them."""
        first, partition = rows.first, {PATH: self.file.path}
        for piece in rows.pieces:
            end = FileCursor.after(self.file, rows.span, first + piece.count)
            if isinstance(piece, UnreadableRows):
                yield [self._unreadable(piece, first, partition, end)], end
            else:
                yield SourceBatch(partition, partial(self._offset, rows.span, first), self._topic, piece), end
            first += piece.count

    def _offset(self, span: BlockSpan, first: int, number: int) -> Mapping[str, Any]:
        return FileCursor.after(self.file, span, first + number + 1).offset

    def _unreadable(
        self, rows: UnreadableRows, first: int, partition: Mapping[str, Any], end: FileCursor
    ) -> SourceRecord:
        number = f"row {first}" if rows.count == 1 else f"rows {first} to {first + rows.count - 1}"
        error = DataError(f"Cannot read {self.file.path} as {self._kind}: {number}: {rows.reason}")
        return ErrantSourceRecord(partition, end.offset, error, rows.raw, self._dead_letters)

    def _is_settled(self) -> bool:
        """Whether what was read up to the end of the file is all that will be written."""
        return self.finished and self._store.is_unchanged(self.file)


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


def _parquet(opened: OpenedFile, settings: ReadSettings) -> Iterator[FileRows]:
    from pyarrow import parquet

    cursor = opened.cursor
    if cursor.check is None and not cursor.is_of(opened.file):
        raise opened.changed("it was written again")
    with opened.open() as source, parquet.ParquetFile(source, coerce_int96_timestamp_unit="us") as file:
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
            yield FileRows(list(_arrow_pieces(batch.slice(skipped), to_values)), row, span)
        row += len(batch) - skipped


def _arrow_pieces(batch: Any, to_values: ArrowValues) -> Iterator[Piece]:
    """The values of a batch, and its rows with values that Connect does not have: halves it until those are alone."""
    try:
        yield to_values(batch)
    except DataError as error:
        if len(batch) == 1:
            yield UnreadableRows(1, str(error))
            return
        middle = len(batch) // 2
        yield from _arrow_pieces(batch.slice(0, middle), to_values)
        yield from _arrow_pieces(batch.slice(middle), to_values)


def _json(opened: OpenedFile, settings: ReadSettings) -> Iterator[FileRows]:
    row = opened.resume[1]
    for block in text_blocks(opened, LineEnds()):
        lines = [line for line in block.text.split(b"\n") if line.strip()]
        documents = _Documents(lines, settings.charset)
        yield from block_rows(opened, settings, block.span(row, len(lines)), documents.between)
        row += len(lines)


_LONG_NUMBER = re.compile(rb"\d{20}|-\d{19}")


def _check_integer(text: str) -> None:
    """ValueError for an integer that orjson would read as a floating-point number, without its last digits."""
    if not -(1 << 63) <= int(text) < 1 << 64:
        raise ValueError(f"the integer {text} has more than 64 bits: write it as text")


class _Documents:
    """Lines of JSON as pieces."""

    def __init__(self, lines: Sequence[bytes], charset: str) -> None:
        self._lines, self._charset = lines, charset

    def between(self, first: int, end: int) -> list[Piece]:
        lines = self._lines[first:end]
        try:
            return [ValueBatch(None, list(map(self._document, lines)))]
        except ValueError:
            return self._apart(lines)

    def _document(self, line: bytes) -> Any:
        text = line if self._charset == "utf-8" else line.decode(self._charset).encode()
        document = orjson.loads(text)
        if _LONG_NUMBER.search(text):
            json.loads(text, parse_int=_check_integer)
        return document

    def _apart(self, lines: Sequence[bytes]) -> list[Piece]:
        pieces: list[Piece] = []
        values: list[Any] = []
        for line in lines:
            try:
                values.append(self._document(line))
            except ValueError as error:
                if values:
                    pieces.append(ValueBatch(None, values))
                reason = f"not valid JSON: {error}" if isinstance(error, json.JSONDecodeError) else str(error)
                pieces.append(UnreadableRows(1, reason, line))
                values = []
        return [*pieces, ValueBatch(None, values)] if values else pieces


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
                values = _AvroBlock(schema, block, reader.writer_schema)
                yield from block_rows(opened, settings, span, values.between)
    if read.position < opened.file.size and opened.is_settled():
        raise EOFError(f"its last block, at byte {read.position}, is incomplete")


class _AvroBlock:
    """A block of Avro as pieces. Where a row ends is known only if it can be read: all rows of the block that follow
    an unreadable one are unreadable, too."""

    def __init__(self, schema: Any, block: Any, document: Any) -> None:
        plain: Callable[[Any], Any] = _without_uuids if "uuid" in str(document) else lambda value: value
        self._schema, self._rows = schema, list[Any]()
        self._reason = ""
        try:
            self._rows.extend(map(plain, block))
        except (*_ERRORS, OverflowError) as error:
            self._reason = f"the rest of its block is unreadable: {error}"

    def between(self, first: int, end: int) -> list[Piece]:
        rows = self._rows[first:end]
        pieces: list[Piece] = [ValueBatch(self._schema, rows)] if rows else []
        missing = end - max(first, len(self._rows))
        return pieces if missing <= 0 else [*pieces, UnreadableRows(missing, self._reason)]


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
    FileFormat.CSV: csv_rows,
    FileFormat.AVRO: _avro,
}
