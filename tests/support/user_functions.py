"""Functions that tests use with headrace.PythonUdf."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import pandas as pd

CALLS: list[int] = []
"""The number of rows of each call of counted()."""


def same(batch):  # type: ignore[no-untyped-def]  # as users write it
    """All columns as they are."""
    return batch


def upper(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The field `name` in capitals, and a new field."""
    table = pa.Table.from_batches([batch])
    table = table.set_column(table.column_names.index("name"), "name", pc.utf8_upper(table["name"]))
    return table.append_column("length", pc.utf8_length(table["name"])).to_batches()[0]


def odd(table: pa.Table) -> pa.Table:
    """Only records with an odd id."""
    return table.filter(pc.equal(pc.bit_wise_and(table["id"], 1), 1))


def repeated(batch: pa.RecordBatch) -> Iterator[pa.Table]:
    """Each record as often as its id says, the last record first."""
    for place in reversed(range(batch.num_rows)):
        yield pa.Table.from_batches([batch.slice(place, 1)] * batch["id"][place].as_py(), batch.schema)


def forgetful(batch: pa.RecordBatch) -> pa.Table:
    """As repeated(), without the column _record."""
    CALLS.append(batch.num_rows)
    ids = [value for value in batch["id"].to_pylist() for _ in range(value)]
    return pa.table({"id": ids})


def streamed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """As functions of Spark's mapInArrow()."""
    yield from batches


def inverse(batch: pa.RecordBatch) -> pa.Table:
    """Fails for the id 0."""
    CALLS.append(batch.num_rows)
    return pa.table({"inverse": [12 // value for value in batch["id"].to_pylist()]})


def routed(batch: pa.RecordBatch) -> pa.Table:
    """Changes all parts of a record."""
    count = batch.num_rows
    return pa.table({
        "key": [f"key {value}" for value in batch["id"].to_pylist()],
        "topic": ["other"] * count,
        "timestamp": pa.array([5_000] * count, pa.timestamp("ms", "UTC")),
        "headers": pa.array([{"h": "v"}] * count, pa.map_(pa.string(), pa.string())),
        "id": batch["id"],
    })  # fmt: skip


def texts(batch: pa.RecordBatch) -> pa.Table:
    """Values that are texts, in capitals."""
    return pa.table({"value": pc.utf8_upper(batch["value"])})


def nothing(batch: pa.RecordBatch) -> None:
    """Forgets to return."""


def leaving(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Ends the process, as it believes."""
    sys.exit(3)


def endless(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Does not return."""
    while True:
        time.sleep(0.005)


def two(first: pa.RecordBatch, second: pa.RecordBatch) -> pa.RecordBatch:
    """Takes too much."""
    return first


def listed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Takes something else."""
    return rows


class Counter:
    """A class whose instance is the function."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Adds the number of the record since the start."""
        self._count += batch.num_rows
        numbers = pa.array(range(self._count - batch.num_rows, self._count))
        return batch.append_column("number", numbers)


def priced(frame: pd.DataFrame) -> pd.DataFrame:
    """Filters, computes and adds rows with pandas."""
    frame = frame[frame["id"] > 0]
    frame = frame.assign(gross=frame["price"] * 2, tag=frame["name"].map(lambda name: [name, name.upper()]))
    return frame.explode("tag")


def framed(frame):  # type: ignore[no-untyped-def]  # as users write it
    """A frame as it is, but reordered."""
    return frame.iloc[::-1]


def halves(batch: pa.RecordBatch) -> pa.Table:
    """A new column with the types that Python's values happen to have."""
    ids = batch["id"].to_pylist()
    return pa.table({"half": [None if not n else n / 2 if n % 2 else n // 2 for n in ids]})


def emptied(batch: pa.RecordBatch) -> pa.Table:
    """Nulls in a required field."""
    return pa.table({"name": pa.nulls(batch.num_rows, pa.string())})


def misnumbered(batch: pa.RecordBatch) -> pa.Table:
    """A number of a record that does not exist."""
    return pa.table({"id": [1], "_record": [batch.num_rows]})


def untimely(batch: pa.RecordBatch) -> pa.Table:
    """A timestamp that is a text."""
    return pa.table({"id": batch["id"], "timestamp": ["noon"] * batch.num_rows})


def dated(batch: pa.RecordBatch) -> pa.Table:
    """A date behind the year 9999 for one record."""
    days = pa.array([4_000_000 if n == 2 else 0 for n in batch["id"].to_pylist()], pa.int32())
    return pa.table({"id": batch["id"], "day": days.cast(pa.date32())})


def counted_by_struct(batch: pa.RecordBatch) -> pa.Table:
    """A map whose keys are structs."""
    kind = pa.map_(pa.struct({"id": pa.int64()}), pa.int64())
    return pa.table({"counts": pa.array([[({"id": n}, 1)] for n in batch["id"].to_pylist()], kind)})


def unsigned(batch: pa.RecordBatch) -> pa.Table:
    """Numbers within large lists, one of which is too large for Connect."""
    numbers = [[2**64 - 1 if n == 2 else n] for n in batch["id"].to_pylist()]
    return pa.table({"numbers": pa.array(numbers, pa.large_list(pa.uint64()))})


def forking(batch: pa.RecordBatch) -> pa.Table:
    """Creates a process, which returns as well, and gives its exit code."""
    child = os.fork()
    if not child:
        return pa.table({})
    return pa.table({"code": [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])] * batch.num_rows})


def interrupting(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Raises what would end a process."""
    raise KeyboardInterrupt
