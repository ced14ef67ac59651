"""A column of Arrow, whose Python values are created when one is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime.api.data.columns import Column, ConstantColumn

if TYPE_CHECKING:
    import pyarrow as pa


MIN_RECORDS = 10
"""Messages of smaller batches are read and written faster one by one."""


class ArrowColumn(Sequence[Any]):
    """`convert` makes of a value that is not null, as `Array.to_pylist()` returns it, the value of the column; None:
    it is that value."""

    __slots__ = ("_values", "array", "convert")

    def __init__(self, array: pa.Array, convert: Callable[[Any], Any] | None = None) -> None:
        self.array, self.convert = array, convert
        self._values: list[Any] | None = None

    @property
    def values(self) -> list[Any]:
        """The Python values."""
        if self._values is None:
            values, convert = self.array.to_pylist(), self.convert
            self._values = (
                values if convert is None else [None if value is None else convert(value) for value in values]
            )
        return self._values

    @property
    def nulls(self) -> int:
        """The number of nulls."""
        return int(self.array.null_count)

    def is_of(self, kind: pa.DataType) -> bool:
        """Whether the array has the column's values, in this type of Arrow."""
        return self.convert is None and bool(self.array.type == kind)

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]


def arrow_columns(
    read: Callable[[], pa.RecordBatch], converts: Mapping[str, Callable[[Any], Any] | None]
) -> dict[str, Column]:
    """The columns of these names in what a native reader has read; ValueError if it cannot read its input."""
    try:
        batch = read()
    except Exception:
        raise
    except BaseException as e:
        if type(e).__name__ == "PanicException":  # of a library in Rust: not an Exception
            raise ValueError(str(e)) from None
        raise
    batch.validate(full=True)  # texts must be UTF-8
    return {name: ArrowColumn(batch.column(name), convert) for name, convert in converts.items()}


def arrow_array(column: Column, kind: pa.DataType) -> pa.Array:
    """The values as this type of Arrow; one of Arrow's errors, ValueError, TypeError or OverflowError if they are not
    of that type."""
    import pyarrow as pa

    if type(column) is ConstantColumn:
        return pa.repeat(pa.scalar(column.value, kind), len(column))
    if type(column) is ArrowColumn:
        if column.is_of(kind):
            return column.array
        column = column.values
    return pa.array(column, kind, from_pandas=False)
