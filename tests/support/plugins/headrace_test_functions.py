"""Functions for headrace.PythonUdf in the tests' workers."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc


def quotients(batch: pa.RecordBatch) -> pa.Table:
    """Fails for the id 77, drops those from 400 on, and makes two records of each."""
    table = pa.Table.from_batches([batch])
    table = table.filter(pc.less(table["id"], 400))
    q = pa.array([1000 // (value - 77) for value in table["id"].to_pylist()], pa.int64())
    made = pa.table({"_record": table["_record"], "id": table["id"], "q": q, "name": pc.utf8_upper(table["name"])})
    return pa.concat_tables([made, made])


def ending(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Ends the process, really."""
    os._exit(3)
    yield from batches


def wrong(batch: pa.RecordBatch) -> list[str]:
    """Returns something else than a batch."""
    return list(batch.schema.names)
