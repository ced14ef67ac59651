"""Records as rows: segments of consecutive records of one topic and one shape, as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.api.data.batch import SinkBatch
from runtime.api.data.columns import ConstantColumn, MixedBatchError, ValueBatch
from runtime.api.data.record import SinkRecord
from runtime.api.data.schema import INT32_SCHEMA, INT64_SCHEMA, STRING_SCHEMA, Schema, Type
from runtime.api.errors import DataError
from runtime.connectors.jdbc.sink_config import KAFKA_KEYS, KeyMode, RowSettings
from runtime.connectors.jdbc.tables import TableId, parse_table

Column = Sequence[Any]
Failed = Callable[[SinkRecord, Exception], None]
"""Called for a record that cannot be a row."""


@dataclass(frozen=True, slots=True)
class RowField:
    """A column that records fill. `schema` is None for values without a schema."""

    name: str
    schema: Schema | None
    key: bool


@dataclass(slots=True)
class Segment:
    """Rows for one table, in the order of their records. `columns` has a column for each field; in rows of deleted
    records only the key fields count. `deleted` is empty if no record has a null value."""

    table: TableId
    fields: tuple[RowField, ...]
    columns: list[Column]
    records: Sequence[SinkRecord]
    deleted: Sequence[bool] = field(default=())

    def __len__(self) -> int:
        return len(self.records)

    @property
    def only_deletes(self) -> bool:
        """Whether all records have a null value."""
        return bool(len(self.deleted)) and all(self.deleted)

    def part(self, start: int, end: int) -> Segment:
        """Some consecutive rows."""
        columns = [column[start:end] for column in self.columns]
        records = _Part(self.records, start, end)
        return Segment(self.table, self.fields, columns, records, self.deleted[start:end])


class _Part(Sequence[SinkRecord]):
    """A slice that leaves the records of a batch uncreated until one is accessed."""

    def __init__(self, records: Sequence[SinkRecord], start: int, end: int) -> None:
        self._records, self._range = records, range(start, min(end, len(records)))

    def __len__(self) -> int:
        return len(self._range)

    def __getitem__(self, index: Any) -> Any:
        place = self._range[index]
        return _Part(self._records, place.start, place.stop) if isinstance(place, range) else self._records[place]


class Rows:
    """Makes segments of batches."""

    def __init__(self, settings: RowSettings, failed: Failed) -> None:
        """`failed` is called for records that cannot be rows; it may raise."""
        self._settings, self._failed = settings, failed
        self._tables: dict[str, TableId] = {}

    def segments(self, records: Sequence[SinkRecord]) -> list[Segment]:
        """The rows of a batch. DataError reaches `failed` for each record at fault."""
        if isinstance(records, SinkBatch):
            try:
                return [self._of_batch(records)]
            except (MixedBatchError, DataError):
                pass  # record by record, so that only the records at fault are reported
        return list(self._of_records(records))

    def table_of(self, topic: str) -> TableId:
        table = self._tables.get(topic)
        if table is None:
            table = self._tables[topic] = parse_table(self._settings.table_format.replace("${topic}", topic))
        return table

    def _of_batch(self, batch: SinkBatch) -> Segment:
        topic, values = batch.topic, batch.values
        nulls = values.all_null
        if nulls is None:
            raise MixedBatchError
        fields, columns = self._keys(batch.keys, batch, None if nulls else values)
        deleted: Sequence[bool] = ()
        if nulls:
            self._check_delete()
            deleted = ConstantColumn(True, len(batch))
        else:
            self._add_values(fields, columns, values)
        return Segment(self.table_of(topic), tuple(fields), columns, batch, deleted)

    def _keys(
        self, keys: ValueBatch, records: Sequence[SinkRecord], values: ValueBatch | None
    ) -> tuple[list[RowField], list[Column]]:
        mode, names = self._settings.key_mode, self._settings.key_fields
        if mode is KeyMode.NONE:
            return [], []
        if mode is KeyMode.KAFKA:
            schemas = (STRING_SCHEMA, INT32_SCHEMA, INT64_SCHEMA)
            chosen = names or KAFKA_KEYS
            return [RowField(n, s, True) for n, s in zip(chosen, schemas, strict=True)], _origins(records)
        part = keys if mode is KeyMode.RECORD_KEY else values
        if part is None:
            raise DataError("A record with a null value has no fields for the primary key (pk.mode=record_value)")
        if mode is KeyMode.RECORD_KEY and not _structured(part):
            return self._simple_key(part)
        return self._struct_key(part)

    def _simple_key(self, keys: ValueBatch) -> tuple[list[RowField], list[Column]]:
        names = self._settings.key_fields
        if keys.all_null is not False:
            raise DataError("A record without a key has no primary key (pk.mode=record_key)")
        if len(names) != 1:
            raise DataError(
                f"The record key is not a struct, so that pk.fields must name one column for it, not {len(names)}"
            )
        return [RowField(names[0], keys.schema, True)], [keys.rows]

    def _struct_key(self, part: ValueBatch) -> tuple[list[RowField], list[Column]]:
        columns = _columns_of(part)
        names = self._settings.key_fields or tuple(columns)
        if missing := [name for name in names if name not in columns]:
            raise DataError(
                f"The record {self._settings.key_mode[7:]} has no field {missing[0]}, which pk.fields names"
            )
        fields = [RowField(name, _schema_of(part, name), True) for name in names]
        return fields, [self._filled(field.schema, columns[field.name]) for field in fields]

    def _add_values(self, fields: list[RowField], columns: list[Column], values: ValueBatch) -> None:
        keys, wanted = {field.name for field in fields}, self._settings.fields
        for name, column in _columns_of(values).items():
            if name in keys or (wanted and name not in wanted):
                continue
            schema = _schema_of(values, name)
            fields.append(RowField(name, schema, False))
            columns.append(self._filled(schema, column))

    def _filled(self, schema: Schema | None, column: Column) -> Column:
        if schema is None or schema.default is None or not self._settings.defaults:
            return column
        return [schema.default if value is None else value for value in column]

    def _check_delete(self) -> None:
        if not self._settings.delete:
            raise DataError("A record with a null value cannot be written: set delete.enabled=true to delete its row")

    def _of_records(self, records: Iterable[SinkRecord]) -> Iterable[Segment]:
        """Segments end where the topic or shape changes. Deletions join the rows around them."""
        group: list[SinkRecord] = []
        current: Any = None
        for record in records:
            shape = _shape(record)
            same_topic = bool(group) and record.topic == group[0].topic
            if group and not (same_topic and (shape is None or current is None or shape == current)):
                yield from self._segment(group)
                group, current = [], None
            group.append(record)
            current = current if shape is None else shape
        if group:
            yield from self._segment(group)

    def _segment(self, records: list[SinkRecord]) -> Iterable[Segment]:
        try:
            return [self._joined(records)]
        except (MixedBatchError, DataError) as error:
            if len(records) == 1:
                reason = error if isinstance(error, DataError) else DataError("The value is not a struct or map")
                self._failed(records[0], reason)
                return []
        middle = len(records) // 2
        return [*self._segment(records[:middle]), *self._segment(records[middle:])]

    def _joined(self, records: list[SinkRecord]) -> Segment:
        first = next((record for record in records if record.value is not None), None)
        deleted: Sequence[bool] = [record.value is None for record in records]
        if any(deleted):
            self._check_delete()
        else:
            deleted = ()
        if len({id(record.key_schema) for record in records}) > 1 and len({_key_shape(r) for r in records}) > 1:
            raise MixedBatchError
        keys = ValueBatch(records[0].key_schema, [record.key for record in records])
        values = None
        if first is not None:
            keys_of_map = first.value if first.value_schema is None and isinstance(first.value, dict) else ()
            blank: dict[str, Any] = dict.fromkeys(keys_of_map)
            rows = [blank if record.value is None else record.value for record in records]
            values = ValueBatch(first.value_schema, rows)
        fields, columns = self._keys(keys, records, values)
        if values is not None:
            self._add_values(fields, columns, values)
        return Segment(self.table_of(records[0].topic), tuple(fields), columns, records, deleted)


def _origins(records: Sequence[SinkRecord]) -> list[Column]:
    """Topics, partitions and offsets where the records were read: a transformation may give records of several topics
    the same topic, with the same partitions and offsets."""
    if isinstance(records, SinkBatch):
        return [[message.topic() for message in records.messages], records.partitions(), records.offsets()]
    return [
        [record.original_topic for record in records],
        [record.original_kafka_partition for record in records],
        [record.original_kafka_offset for record in records],
    ]


def _shape(record: SinkRecord) -> Any:
    """What distinguishes the columns of a record; None for a deletion, which has only a key."""
    if record.value is None:
        return None
    if record.value_schema is not None:
        return id(record.value_schema)
    return tuple(record.value) if isinstance(record.value, dict) else type(record.value)


def _key_shape(record: SinkRecord) -> Any:
    schema = record.key_schema
    return None if schema is None else (schema.type, schema.name, tuple(field.name for field in schema.fields))


def _structured(values: ValueBatch) -> bool:
    if values.schema is not None:
        return values.schema.type is Type.STRUCT
    return isinstance(values.first, dict)


def _columns_of(values: ValueBatch) -> Any:
    schema = values.schema
    if schema is not None and schema.type is not Type.STRUCT:
        raise DataError(f"Only structs and maps can be rows, not values of type {schema.type.name}")
    return values.columns


def _schema_of(values: ValueBatch, name: str) -> Schema | None:
    return None if values.schema is None else values.schema.field(name)
