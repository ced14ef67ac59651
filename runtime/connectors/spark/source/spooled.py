"""The rows of a batch, read from the Parquet files that Spark has written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyarrow import parquet

from runtime.api.data.columns import ValueBatch
from runtime.connectors.files.arrow_values import parquet_values


def row_count(files: Sequence[str]) -> int:
    return sum(parquet.read_metadata(file).num_rows for file in files)


def spooled_values(files: Sequence[str], size: int, start: int) -> Iterator[ValueBatch]:
    """The rows from row `start` (counted from 0 over all files), at most `size` at a time."""
    for path in files:
        with parquet.ParquetFile(path) as file:
            rows = file.metadata.num_rows
            if start < rows:
                yield from parquet_values(file, size, start)
            start = max(start - rows, 0)
