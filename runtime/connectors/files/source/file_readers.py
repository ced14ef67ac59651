"""Readers of files: Parquet, JSON lines, CSV and Avro, block by block.

A row is a record: the n-th of a Parquet or Avro file, the n-th line of JSON that is not blank, the n-th line of a CSV
file after the header. Reading may start at any row.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
import pyarrow as pa

from runtime.api.data.columns import ValueBatch
from runtime.api.errors import DataError
from runtime.connectors.files.arrow_values import ArrowValues, parquet_values
from runtime.connectors.files.folder_store import FileError, FolderStore
from runtime.connectors.files.formats import FileFormat, compression_of

_CHUNK = 4 * 1024 * 1024  # bytes of text that are read at once


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """How files are read. `columns` names the fields of CSV files without a header."""

    rows: int  # most rows of a block
    delimiter: str = ","
    header: bool = True
    columns: tuple[str, ...] = ()


def blocks(
    store: FolderStore, path: str, kind: FileFormat, settings: ReadSettings, start: int
) -> Iterator[tuple[ValueBatch, bool]]:
    """The rows of a file from row `start` (counted from 0), and whether a block is the last one. Raises FileError, with
    the file's name, if the file cannot be read."""
    read = _READERS[kind]
    try:
        held: ValueBatch | None = None
        for block in read(store, path, settings, start):
            if held is not None:
                yield held, False
            held = block
        if held is not None:
            yield held, True
    except FileError:
        raise
    except _ERRORS as error:
        raise FileError(f"Cannot read {path} as {kind}: {error}") from error


_ERRORS = (OSError, ValueError, pa.ArrowException, DataError, TypeError, KeyError, EOFError, IndexError, struct.error)


def _parquet(store: FolderStore, path: str, settings: ReadSettings, start: int) -> Iterator[ValueBatch]:
    from pyarrow import parquet

    with store.open_file(path) as opened, parquet.ParquetFile(opened) as file:
        yield from parquet_values(file, settings.rows, start)


def _json(store: FolderStore, path: str, settings: ReadSettings, start: int) -> Iterator[ValueBatch]:
    row = 0
    with closing(_lines(store, path)) as texts:
        for lines in texts:
            skipped = min(max(start - row, 0), len(lines))
            row += skipped
            for first in range(skipped, len(lines), settings.rows):
                part = lines[first : first + settings.rows]
                yield ValueBatch(None, [_document(line, row + place) for place, line in enumerate(part)])
                row += len(part)


def _document(line: bytes, row: int) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise DataError(f"row {row} is not valid JSON: {error}") from None


def _lines(store: FolderStore, path: str) -> Generator[list[bytes], None, None]:
    """The lines that are not blank."""
    rest = b""
    with store.open_stream(path, compression_of(path)) as file:
        while block := file.read(_CHUNK):
            *lines, rest = (rest + block).split(b"\n")
            yield [line for line in lines if line.strip()]
    if rest.strip():
        yield [rest]


def _csv(store: FolderStore, path: str, settings: ReadSettings, start: int) -> Iterator[ValueBatch]:
    from pyarrow import csv

    delimiter = "\t" if path.partition(".tsv")[1] else settings.delimiter
    names = _csv_names(store, path, settings, delimiter)
    if not names:
        return
    types = dict.fromkeys(names, pa.string())
    read = csv.ReadOptions(
        column_names=names, skip_rows=1 if settings.header else 0, block_size=_CHUNK, use_threads=False
    )
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    convert = csv.ConvertOptions(column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=False,
                                 null_values=[""])  # fmt: skip
    to_values = ArrowValues(pa.schema(list(types.items())))
    with store.open_stream(path, compression_of(path)) as file:
        try:
            reader = csv.open_csv(file, read, parse, convert)
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):
                return
            raise
        for batch in reader:
            for first in range(min(start, len(batch)), len(batch), settings.rows):
                yield to_values(batch.slice(first, settings.rows))
            start = max(start - len(batch), 0)


def _csv_names(store: FolderStore, path: str, settings: ReadSettings, delimiter: str) -> list[str]:
    """The names of the columns; empty for an empty file."""
    import csv

    if settings.columns:
        return list(settings.columns)
    with store.open_stream(path, compression_of(path)) as file:
        text = file.read(_CHUNK).decode("utf-8-sig", "replace")
    first: list[str] = next(csv.reader(text.splitlines(), delimiter=delimiter), [])
    return first if settings.header else [f"column{number + 1}" for number in range(len(first))]


def _avro(store: FolderStore, path: str, settings: ReadSettings, start: int) -> Iterator[ValueBatch]:
    import fastavro

    from runtime.converters.avro.read import connect_schema as connect_of_avro

    with store.open_file(path) as file:
        reader = fastavro.block_reader(file)
        document = _avro_document(reader.writer_schema)
        schema, _ = connect_of_avro(document, [])
        plain: Callable[[Any], Any] = _without_uuids if "uuid" in str(reader.writer_schema) else lambda value: value
        for block in reader:
            if start >= block.num_records:
                start -= block.num_records
                continue
            rows = [plain(value) for value in block][start:]
            start = 0
            for first in range(0, len(rows), settings.rows):
                yield ValueBatch(schema, rows[first : first + settings.rows])


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
    found = {key: value for key, value in document.items() if not key.startswith("__")}
    if found.get("logicalType") in _AVRO_TIMES:
        found["type"], found["logicalType"] = _AVRO_TIMES[found["logicalType"]]
    for key in ("type", "items", "values"):
        if isinstance(found.get(key), list | Mapping):
            found[key] = _avro_document(found[key])
    if "fields" in found:
        found["fields"] = [{**field, "type": _avro_document(field["type"])} for field in found["fields"]]
    return found


def _without_uuids(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, dict):
        return {key: _without_uuids(item) for key, item in value.items()}
    return [_without_uuids(item) for item in value] if isinstance(value, list) else value


_READERS: Mapping[FileFormat, Callable[[FolderStore, str, ReadSettings, int], Iterator[ValueBatch]]] = {
    FileFormat.PARQUET: _parquet,
    FileFormat.JSON: _json,
    FileFormat.CSV: _csv,
    FileFormat.AVRO: _avro,
}
