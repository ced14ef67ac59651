"""Writes buffered rows as files: Parquet, JSON lines, CSV and Avro."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa

from runtime.api.errors import DataError
from runtime.connectors.files.arrow_merge import conformed, writable_schema
from runtime.connectors.files.formats import FileFormat
from runtime.connectors.files.sink.content import ArrowRows, LineRows, RowBuffer, json_text

_ROW_GROUP = 128 * 1024  # rows of a Parquet row group
_ROW_GROUP_BYTES = 64 * 1024 * 1024
_types = pa.types


@dataclass(frozen=True, slots=True)
class WriteSettings:
    """How files are written."""

    format: FileFormat
    compression: str
    delimiter: str = ","
    header: bool = True


def file_filler(buffer: RowBuffer, settings: WriteSettings) -> Callable[[BinaryIO], None]:
    if isinstance(buffer, LineRows):
        return lambda out: _write_lines(buffer, settings, out)
    assert isinstance(buffer, ArrowRows)
    writers = {FileFormat.PARQUET: _write_parquet, FileFormat.CSV: _write_csv, FileFormat.AVRO: _write_avro}
    write = writers[settings.format]
    return lambda out: write(buffer, settings, out)


def _write_lines(buffer: LineRows, settings: WriteSettings, out: BinaryIO) -> None:
    if settings.compression == "none":
        out.writelines(buffer.blocks())
        return
    with _compressed(out, settings.compression) as compressed:
        for block in buffer.blocks():
            compressed.write(block)


class _KeptOpen:
    """A file that a compressing stream cannot close, since it is synced after that."""

    closed = False

    def __init__(self, out: BinaryIO) -> None:
        self.write, self.tell = out.write, out.tell

    def flush(self) -> None:
        """The store flushes the file."""

    def close(self) -> None:
        """The store closes the file."""


def _compressed(out: BinaryIO, compression: str) -> Any:
    """A stream that writes to `out`, which remains open."""
    kept = pa.PythonFile(_KeptOpen(out), "w")
    return kept if compression == "none" else pa.CompressedOutputStream(kept, compression)


def _tables(buffer: ArrowRows, schema: Any) -> Iterator[Any]:
    """The rows in tables of about one row group."""
    waiting: list[Any] = []
    rows = size = 0
    for batch in buffer.batches():
        waiting.append(conformed(batch, schema))
        rows, size = rows + len(batch), size + batch.nbytes
        if rows >= _ROW_GROUP or size >= _ROW_GROUP_BYTES:
            yield pa.Table.from_batches(waiting, schema)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield pa.Table.from_batches(waiting, schema)


def _write_parquet(buffer: ArrowRows, settings: WriteSettings, out: BinaryIO) -> None:
    from pyarrow import parquet

    schema = writable_schema(buffer.content.schema)
    with parquet.ParquetWriter(out, schema, compression=settings.compression) as writer:
        for table in _tables(buffer, schema):
            writer.write_table(table, row_group_size=_ROW_GROUP)


def _write_csv(buffer: ArrowRows, settings: WriteSettings, out: BinaryIO) -> None:
    from pyarrow import csv

    schema = writable_schema(buffer.content.schema)
    alone = len(schema) == 1 and schema.field(0).nullable  # its nulls would be empty lines, which readers skip
    text = pa.schema([pa.field(field.name, pa.string() if alone else _csv_type(field.type)) for field in schema])
    options = csv.WriteOptions(include_header=settings.header, delimiter=settings.delimiter)
    with _compressed(out, settings.compression) as sink, csv.CSVWriter(sink, text, write_options=options) as writer:
        for table in _tables(buffer, schema):
            columns = [_csv_column(column.combine_chunks()) for column in table.columns]
            if alone:
                columns = [column.cast(pa.string()).fill_null("") for column in columns]
            writer.write_table(pa.Table.from_arrays(columns, schema=text))


def _nested(kind: Any) -> bool:
    return bool(_types.is_nested(kind))


def _csv_type(kind: Any) -> Any:
    return pa.string() if _nested(kind) or _types.is_binary(kind) or _types.is_decimal(kind) else kind


def _csv_column(column: Any) -> Any:
    """Nested values as JSON, bytes as Base64, decimals as digits."""
    if _nested(column.type):
        return pa.array([None if value is None else json_text(value).decode() for value in _plain(column)], pa.string())
    if _types.is_binary(column.type):
        return pa.array([None if v is None else base64.b64encode(v).decode() for v in column.to_pylist()], pa.string())
    return column.cast(pa.string()) if _types.is_decimal(column.type) else column


def _plain(column: Any) -> list[Any]:
    rows: list[Any] = column.to_pylist(maps_as_pydicts="strict")
    return rows


_AVRO = {
    "int8": "int", "int16": "int", "int32": "int", "int64": "long", "float": "float", "double": "double",
    "bool": "boolean", "string": "string", "binary": "bytes",
    "date32[day]": {"type": "int", "logicalType": "date"},
    "time32[ms]": {"type": "int", "logicalType": "time-millis"},
    "timestamp[ms, tz=UTC]": {"type": "long", "logicalType": "timestamp-millis"},
}  # fmt: skip
_AVRO_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_AVRO_CODECS = {"none": "null"}


def _write_avro(buffer: ArrowRows, settings: WriteSettings, out: BinaryIO) -> None:
    import fastavro

    schema = writable_schema(buffer.content.schema)
    parsed = fastavro.parse_schema(avro_schema(buffer.content.schema))
    rows = (row for table in _tables(buffer, schema) for row in table.to_pylist(maps_as_pydicts="strict"))
    fastavro.writer(out, parsed, rows, codec=_AVRO_CODECS.get(settings.compression, settings.compression))


def avro_schema(schema: Any) -> dict[str, Any]:
    """The Avro schema of a merged schema, in which an inner record has the path to it as its full name; DataError if
    Avro cannot express it."""
    return _avro_record(list(writable_schema(schema)), "Record")


def _avro_record(fields: list[Any], name: str) -> dict[str, Any]:
    for field in fields:
        if not _AVRO_NAME.match(field.name):
            raise DataError(f"{field.name!r} is not a valid name of an Avro field: rename it with ReplaceField")
    return {"type": "record", "name": name, "fields": [_avro_field(field, name) for field in fields]}


def _avro_field(field: Any, inside: str) -> dict[str, Any]:
    made: dict[str, Any] = {"name": field.name, "type": _avro_nullable(field, f"{inside}.{field.name}")}
    return made | {"default": None} if field.nullable else made


def _avro_nullable(field: Any, name: str) -> Any:
    kind = _avro_type(field.type, name)
    return ["null", kind] if field.nullable else kind


def _avro_type(kind: Any, name: str) -> Any:
    if (simple := _AVRO.get(str(kind))) is not None:
        return simple
    if _types.is_struct(kind):
        return _avro_record(list(kind), name)
    if _types.is_list(kind):
        return {"type": "array", "items": _avro_nullable(kind.value_field, name)}
    if _types.is_map(kind) and _types.is_string(kind.key_type):
        return {"type": "map", "values": _avro_nullable(kind.item_field, name)}
    if _types.is_decimal(kind):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if _types.is_timestamp(kind):
        return {"type": "long", "logicalType": "timestamp-micros"}
    raise DataError(f"Avro has no type for {kind}")
