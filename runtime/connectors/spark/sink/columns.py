"""The columns of a table, and records brought to them.

Types are taken from Connect's schemas, from `spark.schema`, or, for values without a schema, from the first values. A
later value is cast to the type of its column if nothing is lost. What becomes of new fields, the policy says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from runtime.api.data.columns import ValueBatch, selected
from runtime.api.data.schema import Type
from runtime.api.errors import DataError
from runtime.connectors.files.arrow_merge import MergeError, conformed, merged_schema
from runtime.connectors.files.sink.records_to_arrow import CONVERSION_ERRORS, VALUE, ArrowConversion
from runtime.connectors.spark.sink.definition import Evolution

_types = pa.types


_LONGEST_NAME = 255  # bytes of a folder, on disks and in HDFS
_ESCAPED = re.compile(r"""[\x01-\x1f\x7f"#%'*/:=?\\{\[\]^]""")
"""What Spark writes as %XX in the names of folders."""


class TableColumns:
    """The columns known so far. `fixed`: they are all, and other fields are dropped (`spark.schema`). `folders`: those
    whose values are names of folders of limited length."""

    def __init__(
        self, evolution: Evolution, schema: Any = None, fixed: bool = False, folders: Sequence[str] = ()
    ) -> None:
        self._conversion, self._folders = ArrowConversion(), folders
        self._evolution, self._fixed, self._folds_case = evolution, fixed, False
        self.schema: Any = None if schema is None else pa.schema([_spark_field(field) for field in schema])

    def know(self, schema: Any) -> None:
        """Columns that the table has already; ignored if others are known."""
        if self.schema is None and self._evolution is not Evolution.ANY:
            self.schema = pa.schema([_spark_field(field) for field in schema])

    def fold_case(self) -> bool:
        """From now on, fields whose names differ only in case from others do not fit, since Spark has refused such
        columns. False if this cannot help."""
        if self._fixed or self._folds_case:
            return False
        self._folds_case = True
        self.schema = None if self.schema is None else pa.schema(_first_of_each_case(self.schema))
        return True

    def convert(self, values: ValueBatch, refuse: Callable[[int, Exception], None]) -> Iterator[tuple[range, Any]]:
        """Record batches with the columns known at that time, and the indices of their records. `refuse` is called with
        the index of a record that does not fit."""
        yield from self._converted(values, range(values.count), refuse)

    def _converted(
        self, values: ValueBatch, places: range, refuse: Callable[[int, Exception], None]
    ) -> Iterator[tuple[range, Any]]:
        part = values if len(places) == values.count else selected(values, places)
        try:
            batch = self._conversion.record_batch(part, self.schema)
            self._check_objects(part, batch)
            self._check_folders(batch)
            batch = self.fitted(batch)
        except (MergeError, *CONVERSION_ERRORS) as error:
            if len(places) == 1:
                refuse(places[0], error)
                return
            middle = (places.start + places.stop) // 2
            yield from self._converted(values, range(places.start, middle), refuse)
            yield from self._converted(values, range(middle, places.stop), refuse)
        else:
            yield places, batch

    def _check_objects(self, values: ValueBatch, batch: Any) -> None:
        """DataError for values without fields if there is no column `value`: their rows would be null throughout."""
        if not self._fixed or VALUE in self.schema.names or batch.schema.names != [VALUE]:
            return
        if values.schema is None:
            has_fields = isinstance(values.rows[0], Mapping)
        else:
            has_fields = values.schema.type in (Type.STRUCT, Type.MAP)
        if not has_fields:
            raise DataError(f"The value is {batch.schema.field(VALUE).type}, not an object with fields (spark.schema)")

    def _check_folders(self, batch: Any) -> None:
        """DataError for a text that is too long for the name of its folder, for which Spark would fail."""
        for name in self._folders:
            if name not in batch.schema.names or not _types.is_string(batch.column(name).type):
                continue
            for text in batch.column(name).unique().to_pylist():
                if text and (size := len(f"{name}={_ESCAPED.sub('%00', text)}".encode())) > _LONGEST_NAME:
                    raise DataError(f"The folder for column {name} needs a name of {size} bytes, more than 255")

    def fitted(self, batch: Any) -> Any:
        """The batch with Spark's types and the known columns, which it may extend."""
        schema = pa.schema([_spark_field(field) for field in batch.schema])
        known = self.schema
        if known is not None and known.equals(schema):
            return conformed(batch, schema)
        if self._evolution is Evolution.ANY and not self._fixed:
            return self._extend(batch, schema if known is None else merged_schema(known, schema))
        if known is None:
            return self._extend(batch, schema)
        if self._evolution is Evolution.EVOLVE and not self._fixed:
            return self._widened(batch, schema)
        wanted = known if self._fixed or self._evolution is Evolution.DISCARD else extended(known, schema)
        if self._evolution is Evolution.FREEZE and not self._fixed and not wanted.equals(known):
            new = [path for path in _paths(wanted) if path not in set(_paths(known))]
            raise DataError(f"The table has no column {', '.join(new) or '…'} (spark.schema.evolution=freeze)")
        return self._extend(batch, wanted)

    def _extend(self, batch: Any, wanted: Any) -> Any:
        """The batch with these columns, which are the known ones from now on."""
        if self._folds_case and (name := _differing_in_case(wanted)):
            raise DataError(f"The field {name} differs from another one only in case, which Spark does not distinguish")
        fitted = conformed(batch, wanted)
        self.schema = wanted
        return fitted

    def _widened(self, batch: Any, schema: Any) -> Any:
        """The batch with the known columns, wider where its numbers do not fit. All floating-point numbers fit into
        smaller ones, but lose digits."""
        wanted = extended(self.schema, schema, _wider_floating)
        try:
            return self._extend(batch, wanted)
        except (MergeError, *CONVERSION_ERRORS):
            return self._extend(batch, extended(self.schema, schema, wider))

    def forget(self) -> None:
        """Start a batch: with Evolution.ANY it has the columns of its own records."""
        if self._evolution is Evolution.ANY and not self._fixed:
            self.schema = None


def _first_of_each_case(fields: Iterable[Any]) -> list[Any]:
    """The fields without those whose names differ only in case from an earlier one, also within structs."""
    first: dict[str, Any] = {}
    for field in fields:
        kind = field.type
        first.setdefault(
            field.name.lower(),
            field.with_type(pa.struct(_first_of_each_case(kind))) if _types.is_struct(kind) else field,
        )
    return list(first.values())


def _differing_in_case(fields: Iterable[Any]) -> str | None:
    """A field whose name differs only in case from an earlier one, also within structs; None if there is none."""
    names = set[str]()
    for field in fields:
        if field.name.lower() in names:
            return str(field.name)
        names.add(field.name.lower())
        if _types.is_struct(field.type) and (inner := _differing_in_case(field.type)):
            return f"{field.name}.{inner}"
    return None


def extended(known: Any, other: Any, widen: Callable[[Any, Any], Any] = lambda known, other: known) -> Any:
    """The known schema and the fields that only the other one has. Types do not change, except those that are not known
    yet because all values were null, and as `widen` decides."""
    return pa.schema(_extended_fields(list(known), list(other), widen))


def _extended_fields(known: list[Any], other: list[Any], widen: Callable[[Any, Any], Any]) -> list[Any]:
    others = {field.name: field for field in other}
    fields = [
        field.with_type(_extended_type(field.type, others.pop(field.name).type, widen))
        if field.name in others
        else field
        for field in known
    ]
    return fields + list(others.values())


def _extended_type(known: Any, other: Any, widen: Callable[[Any, Any], Any]) -> Any:
    if _types.is_null(known) or (_types.is_struct(known) and not known.num_fields and _types.is_struct(other)):
        return other
    if _types.is_struct(known) and _types.is_struct(other):
        return pa.struct(_extended_fields(list(known), list(other), widen))
    if _types.is_list(known) and _types.is_list(other):
        return pa.list_(known.value_field.with_type(_extended_type(known.value_type, other.value_type, widen)))
    if _types.is_map(known) and _types.is_map(other):
        item = _extended_type(known.item_type, other.item_type, widen)
        return pa.map_(known.key_type, known.item_field.with_type(item))
    return widen(known, other)


def wider(known: Any, other: Any) -> Any:
    """The type of a column for values of another type, as both Delta and Iceberg can change it: larger integers and
    floating-point numbers, decimals with more digits before the point."""
    if _types.is_integer(known) and _types.is_integer(other):
        return known if known.bit_width >= other.bit_width else other
    if _types.is_decimal(known) and _types.is_decimal(other):
        digits = max(known.precision - known.scale, other.precision - other.scale)
        return pa.decimal128(min(digits + known.scale, 38), known.scale)
    return _wider_floating(known, other)


def _wider_floating(known: Any, other: Any) -> Any:
    return other if _types.is_float32(known) and _types.is_float64(other) else known


def stored_schema(schema: Any) -> Any:
    """The columns that can be written. Those whose values have all been null so far have no type and are left out."""
    fields = [field.with_type(kind) for field in schema if (kind := _stored_type(field.type)) is not None]
    return pa.schema(fields or [pa.field("value", pa.string())])


def _stored_type(kind: Any) -> Any:
    if _types.is_null(kind):
        return None
    if _types.is_struct(kind):
        fields = [field.with_type(inner) for field in kind if (inner := _stored_type(field.type)) is not None]
        return pa.struct(fields) if fields else None
    if _types.is_list(kind):
        inner = _stored_type(kind.value_type)
        return None if inner is None else pa.list_(kind.value_field.with_type(inner))
    if _types.is_map(kind):
        inner = _stored_type(kind.item_type)
        return None if inner is None else pa.map_(kind.key_type, kind.item_field.with_type(inner))
    return kind


def _spark_field(field: Any) -> Any:
    """The field with a type that Spark has; columns are nullable, as in Spark's tables."""
    return pa.field(field.name, spark_compatible(field.type))


def spark_compatible(kind: Any) -> Any:
    """Arrow's type of the Spark type for values of a type. Times of a day are milliseconds, unsigned integers the next
    larger integers."""
    if _types.is_time(kind):
        return pa.int64() if kind.bit_width == 64 else pa.int32()
    if _types.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    if _types.is_struct(kind):
        return pa.struct([_spark_field(field) for field in kind])
    if _types.is_list(kind) or _types.is_large_list(kind):
        return pa.list_(_spark_field(kind.value_field).with_name("element"))
    if _types.is_map(kind):
        return pa.map_(spark_compatible(kind.key_type), _spark_field(kind.item_field).with_name("value"))
    if _types.is_large_string(kind):
        return pa.string()
    if _types.is_large_binary(kind):
        return pa.binary()
    return kind


def _paths(schema: Any, prefix: str = "") -> Iterator[str]:
    for field in schema:
        yield prefix + field.name
        if _types.is_struct(field.type):
            yield from _paths(field.type, f"{prefix}{field.name}.")
