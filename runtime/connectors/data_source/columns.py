"""The rows of a reader as columns. Named rows and Arrow columns are assigned by name, tuples by position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from runtime.api.errors import ConnectError


def column_pieces(rows: Iterator[Any], names: Sequence[str], size: int, skip: int) -> Iterator[list[Sequence[Any]]]:
    """The rows as lists of columns with up to `size` rows, without the first `skip`. `names` are those of the schema.
    ConnectError for rows that do not fit."""
    waiting: list[Any] = []
    for item in rows:
        if hasattr(item, "to_pylist") or hasattr(item, "to_pydict"):  # an Arrow record batch
            if waiting:
                yield _columns(waiting, names)
                waiting = []
            first = min(skip, item.num_rows)
            skip -= first
            for start in range(first, item.num_rows, size):
                yield _of_batch(item.slice(start, size), names)
            continue
        if skip:
            skip -= 1
            continue
        waiting.append(item)
        if len(waiting) >= size:
            yield _columns(waiting, names)
            waiting = []
    if waiting:
        yield _columns(waiting, names)


def _of_batch(batch: Any, names: Sequence[str]) -> list[Sequence[Any]]:
    _check_names(batch.schema.names, names)
    return [batch.column(name).to_pylist() for name in names]


def _columns(rows: list[Any], names: Sequence[str]) -> list[Sequence[Any]]:
    if {*map(type, rows)} != {tuple}:
        rows = [_values(row, names) for row in rows]
    if wrong := {*map(len, rows)} - {len(names)}:
        raise ConnectError(f"The reader returned rows with {min(wrong)} values; the schema has {len(names)}")
    return list(zip(*rows, strict=True))


def _values(row: Any, names: Sequence[str]) -> Sequence[Any]:
    fields = getattr(row, "__fields__", None)
    if fields is not None:  # a Row of Spark with names
        _check_names(fields, names)
        return [row[name] for name in names]
    if isinstance(row, tuple | list):
        return row
    raise ConnectError(
        f"The reader returned {type(row).__name__} as a row: rows are tuples, Row objects or Arrow record batches"
    )


def _check_names(columns: Sequence[str], names: Sequence[str]) -> None:
    if sorted(columns) != sorted(names):
        raise ConnectError(
            f"The reader returned rows with the columns {', '.join(columns)}; the schema has {', '.join(names)}"
        )
