"""Records as changes of the rows of a table, by key: the rows to write and the keys to delete.

    record without a value                          its key is deleted
    Debezium's envelope with op d                   the key in before is deleted
    Debezium's envelope with another op             the row in after is written
    fields, among them __deleted=true               the key is deleted
    fields                                          the row is written

Each change is a row with the columns of the table, of which deletions have only the key, and columns that order
changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import Type
from runtime.api.errors import DataError
from runtime.connectors.files.arrow_merge import MergeError, conformed, merged_schema, merged_type
from runtime.connectors.files.sink.chunk import Chunk
from runtime.connectors.files.sink.records_to_arrow import CONVERSION_ERRORS, VALUE, ArrowConversion
from runtime.connectors.spark.config_keys import MODE
from runtime.connectors.spark.sink.collected import CollectedRows
from runtime.connectors.spark.sink.columns import TableColumns, stored_schema
from runtime.connectors.spark.sink.definition import UPSERT, Envelope, MergeSettings
from runtime.connectors.spark.sink.unchanged import with_earlier_values, without_unchanged
from runtime.connectors.spark.staging import DELETED, SEQUENCE, UNCHANGED

_OFFSET, _PLACE = "__offset", "__place"
"""Columns that order changes of the same key with the same sequence; they are not written."""
_RESERVED = {_OFFSET, _PLACE, SEQUENCE, UNCHANGED}
_WRITES, _DELETES = ("c", "r", "u"), "d"
"""Debezium's operations."""
_types = pa.types


@dataclass(frozen=True, slots=True)
class _Part:
    """Deletions or rows of a chunk: their columns as far as they are known, their values, their indices; and for rows
    the names of columns that keep their values."""

    deleted: bool
    rows: Any = None
    value: Any = None
    index: Any = None
    unchanged: Any = None


@dataclass(frozen=True, slots=True)
class RowChanges:
    """Some changes, all of them of rows that are written or all of them deletions. `order`: what belongs to each row
    besides its columns."""

    rows: Any
    order: Any


class ChangeConversion:
    """Converts the records of chunks to changes. `keys`: the key columns, known from the first record on."""

    def __init__(self, settings: MergeSettings, columns: TableColumns) -> None:
        self._settings, self._columns = settings, columns
        self._values, self._keys = ArrowConversion(), ArrowConversion()
        self.keys = settings.keys
        self._count = 0
        self._sequence = pa.null()  # the type of the sequences so far

    def collected(self) -> CollectedChanges:
        """A batch without changes, of which those of the same key will be reduced to the last one."""
        return CollectedChanges(last=lambda rows: last_of_each_key(rows, self.keys))

    def collect(self, chunk: Chunk, batch: CollectedRows, refuse: Callable[[int, Exception], None]) -> None:
        """Add the changes to a batch. `refuse` is called with the index of a record that does not fit."""
        assert isinstance(batch, CollectedChanges)
        for changes in self._converted(chunk, range(len(chunk)), refuse):
            batch.add_changes(changes)

    def _converted(self, chunk: Chunk, places: range, refuse: Callable[[int, Exception], None]) -> Iterator[RowChanges]:
        try:
            changes = self._changes(chunk.part(places.start, places.stop))
        except (MergeError, *CONVERSION_ERRORS) as error:
            if len(places) == 1:
                refuse(places[0], error)
                return
            middle = (places.start + places.stop) // 2
            yield from self._converted(chunk, range(places.start, middle), refuse)
            yield from self._converted(chunk, range(middle, places.stop), refuse)
        else:
            yield from changes

    def _changes(self, chunk: Chunk) -> list[RowChanges]:
        null = chunk.values.all_null
        if null and self._settings.sequence:
            if self._settings.envelope is Envelope.DEBEZIUM:  # follows an event with the operation d
                return []
            raise DataError("A record without a value has no sequence (spark.sequence.column)")
        record_keys = _LazyKeys(self._keys, chunk.keys())
        names = self.keys or record_keys.names()
        if not self._settings.keys and names != record_keys.names():
            raise DataError(f"The key has the fields {', '.join(record_keys.names())}, not {', '.join(names)}")
        made = []
        for part in [_Part(deleted=True)] if null else self._divided(chunk.values):
            table = self._with_keys(names, part, record_keys)
            made.append((part.deleted, table, self._order(chunk, part)))
        # Deletions first: they cannot add any column but the key, should the rows not fit.
        ordered = sorted(made, key=lambda part: not part[0])
        changes = [RowChanges(self._columns.fitted(rows), order) for _, rows, order in ordered]
        if missing := set(names) - set(self._columns.schema.names):
            raise DataError(f"The table has no key column {', '.join(sorted(missing))}")
        self.keys = names
        return changes

    def _divided(self, values: ValueBatch) -> Iterator[_Part]:
        """Deletions and rows."""
        debezium = self._settings.envelope is Envelope.DEBEZIUM
        batch = self._values.record_batch(values, _envelope(self._columns.schema) if debezium else self._columns.schema)
        if batch.schema.names == [VALUE] and not _has_fields(values):
            raise DataError(f"The value is {batch.schema.field(VALUE).type}, not an object with fields")
        deleted = _debezium_deletions(batch) if debezium else _marked_deletions(batch)
        for is_deletion, mask in ((True, deleted), (False, pc.invert(deleted))):
            index = pc.indices_nonzero(mask)
            if not len(index):
                continue
            value = batch.take(index)
            if debezium:
                rows = _image(value, "before" if is_deletion else "after", required=not is_deletion)
            else:
                rows = _without(value, DELETED)
            unchanged = None
            if not is_deletion and self._settings.placeholder is not None:
                rows, unchanged = without_unchanged(rows, self._settings.placeholder)
            yield _Part(is_deletion, rows, value, index, unchanged)

    def _with_keys(self, names: Sequence[str], part: _Part, keys: _LazyKeys) -> Any:
        """The rows with the key columns; of deletions only these."""
        rows, index, deleted = part.rows, part.index, part.deleted
        columns = {} if rows is None else dict(zip(rows.schema.names, rows.columns, strict=True))
        if reserved := columns.keys() & _RESERVED:
            raise DataError(
                f"SparkSink has a column {min(reserved)} of its own with {MODE}={UPSERT}: rename the field, for "
                "example with ReplaceField"
            )
        keyed = {}
        for name in names:
            column = columns.get(name) if self._settings.keys else None
            if column is None or (deleted and column.null_count):
                column = keys.column(name, len(names) == 1)
                column = column if index is None else column.take(index)
            if column.null_count or _types.is_null(column.type):
                raise DataError(f"The key column {name} is null or missing")
            if _types.is_nested(column.type):
                raise DataError(f"The key column {name} is {column.type}: keys are single values")
            keyed[name] = column
        named = keyed if deleted else {**columns, **keyed}
        return pa.RecordBatch.from_arrays(list(named.values()), names=list(named))

    def _order(self, chunk: Chunk, part: _Part) -> Any:
        """The columns that order changes, with what is to happen with the row."""
        offsets = pa.array(list(chunk.offsets()), pa.int64())
        offsets = offsets if part.index is None else offsets.take(part.index)
        count = len(offsets)
        columns = {
            DELETED: pa.repeat(pa.scalar(part.deleted), count),
            _OFFSET: offsets,
            _PLACE: pa.array(range(self._count, self._count + count), pa.int64()),
        }
        self._count += count
        if self._settings.sequence:
            columns[SEQUENCE] = _sequence(part.value, self._settings.sequence)
            self._sequence = merged_type(self._sequence, columns[SEQUENCE].type)
        if part.unchanged is not None:
            columns[UNCHANGED] = part.unchanged
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


class _LazyKeys:
    """The keys of records as columns, converted if they are needed."""

    def __init__(self, conversion: ArrowConversion, keys: ValueBatch) -> None:
        self._conversion, self._keys = conversion, keys
        self._batch: Any = None

    def _converted(self) -> Any:
        if self._batch is None:
            self._batch = self._conversion.record_batch(self._keys)
        return self._batch

    def names(self) -> tuple[str, ...]:
        """The fields of the keys; DataError if the keys have none."""
        if not _has_fields(self._keys):
            raise DataError("The record's key has no fields that name columns: set spark.key.columns")
        return tuple(self._converted().schema.names)

    def column(self, name: str, is_only: bool) -> Any:
        """A field of the keys, or the keys themselves if they are the only column."""
        batch = self._converted()
        if not _has_fields(self._keys) and is_only:
            return batch.column(VALUE)
        if name not in batch.schema.names:
            raise DataError(f"Neither the value nor the key has the key column {name}")
        return batch.column(name)


def _has_fields(values: ValueBatch) -> bool:
    if values.schema is not None:
        return values.schema.type in (Type.STRUCT, Type.MAP)
    return isinstance(values.first, Mapping)


def _envelope(columns: Any) -> Any:
    """The fields of an event with rows of these columns."""
    return columns and pa.schema([pa.field(image, pa.struct(list(columns))) for image in ("before", "after")])


def _debezium_deletions(batch: Any) -> Any:
    if "op" not in batch.schema.names:
        raise DataError("The value is not an event of Debezium: it has no field op (spark.envelope)")
    operations = batch.column("op")
    unknown = set(operations.to_pylist()) - {*_WRITES, _DELETES}
    if unknown:
        raise DataError(f"Events with the operation {', '.join(map(str, unknown))} do not change a row")
    return pc.equal(operations, _DELETES)


def _marked_deletions(batch: Any) -> Any:
    """`__deleted` is true, or the text `true` of Debezium's transformation ExtractNewRecordState."""
    if DELETED not in batch.schema.names:
        return pa.array([False] * len(batch))
    return pc.fill_null(batch.column(DELETED).cast(pa.bool_()), False)


def _image(batch: Any, name: str, required: bool) -> Any:
    """The rows before or after the changes; None if the events do not have them all."""
    column = batch.column(name) if name in batch.schema.names else pa.nulls(len(batch))
    if not _types.is_struct(column.type) or column.null_count:
        if required:
            raise DataError(f"An event of Debezium has no object in {name}")
        return None
    return _without(pa.RecordBatch.from_arrays(column.flatten(), names=[part.name for part in column.type]), DELETED)


def _without(batch: Any, name: str) -> Any:
    return batch.drop_columns([name]) if name in batch.schema.names else batch


def _sequence(value: Any, path: str) -> Any:
    """The values of a field, which may be nested, such as `source.lsn`."""
    first, *rest = path.split(".")
    column = value.column(first) if first in value.schema.names else None
    for name in rest:
        known = column is not None and _types.is_struct(column.type) and column.type.get_field_index(name) >= 0
        column = pc.struct_field(column, name) if known else None
    if column is None or column.null_count or _types.is_nested(column.type):
        raise DataError(f"The sequence {path} is null or missing (spark.sequence.column)")
    if _types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
        raise DataError(f"The sequence {path} is not a number (spark.sequence.column)")
    return column


@dataclass(slots=True)
class CollectedChanges(CollectedRows):
    """Changes, of which `last` selects those that are written."""

    last: Callable[[Any], Any] = field(kw_only=True)
    orders: list[Any] = field(default_factory=list)
    """What orders the changes, for each part."""

    def add_changes(self, changes: RowChanges) -> None:
        """Add changes to the batch."""
        self.add(changes.rows)
        self.orders.append(changes.order)

    def table(self, schema: Any) -> Any:
        stored = stored_schema(schema)
        rows = pa.Table.from_batches([conformed(part, stored) for part in self.parts], stored)
        orders = self.orders[0].schema
        for order in self.orders[1:]:
            orders = merged_schema(orders, order.schema)
        columns = pa.Table.from_batches([conformed(part, orders) for part in self.orders], orders)
        for column in orders:
            rows = rows.append_column(column, columns.column(column.name))
        self.orders = []
        return self.last(rows)


def last_of_each_key(rows: Any, keys: Sequence[str]) -> Any:
    """The last change of each key: by its sequence if there is one, then by its offset."""
    order = [name for name in (SEQUENCE, _OFFSET, _PLACE) if name in rows.schema.names]
    ordered = rows.take(pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in order])).combine_chunks()
    ordered = with_earlier_values(ordered, keys)
    numbered = ordered.select(list(keys)).append_column(_PLACE, pa.array(range(len(ordered)), pa.int64()))
    last = numbered.group_by(list(keys)).aggregate([(_PLACE, "max")]).column(f"{_PLACE}_max")
    return ordered.take(pc.take(last, pc.sort_indices(last))).drop_columns([_OFFSET, _PLACE])
