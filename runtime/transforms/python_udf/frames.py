"""Batches as DataFrames of pandas, and back. pandas is imported by the functions of users, or not at all."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa

from runtime.transforms.python_udf.columns import RECORD

_NULLABLE = {
    **{f"int{bits}": f"Int{bits}Dtype" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"UInt{bits}Dtype" for bits in (8, 16, 32, 64)},
    "bool": "BooleanDtype",
}
"""The types of pandas for columns with nulls: its default would be floating-point numbers, or objects."""


def is_frame(value: object) -> bool:
    """Whether a value is a DataFrame of pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame)


def frame_of(rows: pa.RecordBatch) -> Any:
    """The rows as a DataFrame, whose index has the number of the record of each."""
    import pandas

    index = pandas.Index(rows.column(RECORD).to_pandas(), name=RECORD)
    columns = {name: _series(rows.column(name)) for name in rows.schema.names if name != RECORD}
    for series in columns.values():
        series.index = index
    return pandas.DataFrame(columns, index=index)


def _series(array: Any) -> Any:
    import pandas

    nullable = _NULLABLE.get(str(array.type)) if array.null_count else None
    if nullable is None:
        return array.to_pandas(maps_as_pydicts="strict", integer_object_nulls=pa.types.is_nested(array.type))
    return array.to_pandas(types_mapper=lambda _: getattr(pandas, nullable)())


def table_of_frame(frame: Any, known: pa.Schema) -> pa.Table:
    """A DataFrame as a table. `known`: types of columns that were given to the function; objects, whose type pandas
    does not know, get them if they fit."""
    names = [str(name) for name in frame.columns]
    arrays = [_array(frame.iloc[:, place], name, known) for place, name in enumerate(names)]
    if frame.index.name == RECORD and RECORD not in names:
        names.append(RECORD)
        arrays.append(pa.array(frame.index))
    return pa.table(arrays, names=names)


def _array(series: Any, name: str, known: pa.Schema) -> Any:
    if name in known.names and series.dtype == object:
        try:
            return pa.array(series, known.field(name).type, from_pandas=True)
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            pass  # other values than before
    made = pa.array(series, from_pandas=True)
    return made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made
