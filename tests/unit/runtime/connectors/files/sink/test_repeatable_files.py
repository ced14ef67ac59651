"""The records in each file of FilesSink, and its schema, depend on the records alone, not on batches or crashes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.tasks.files_sink import SinkDriver, files, records

_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.just(2**53 + 1),
    st.sampled_from([0.5, 2.0]),
    st.sampled_from(["", "x"]),
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(_SCALARS, max_size=2), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)),
    max_leaves=4,
)
_DOCUMENTS = st.lists(st.dictionaries(st.sampled_from("abc"), _VALUES, max_size=3), min_size=1, max_size=24)


def _convertible(value: Any) -> bool:
    """Whether lists have elements of one type; others are reported as errors."""
    if isinstance(value, dict):
        return all(map(_convertible, value.values()))
    return not isinstance(value, list) or len({type(item) for item in value if item is not None}) < 2


def _run(folder: Path, values: list[Any], batches: list[int], stop: int | None = None) -> None:
    """Puts the values in batches of these sizes, up to the value `stop`, and waits for complete files."""
    config = {"flush.size": "7", "rotate.interval.ms": "5000", "partition.field.name": "a", "buffer.bytes": "300"}
    sink = SinkDriver(folder, config)
    start = 0
    for size in [*batches, len(values)]:
        end = min(start + size, len(values) if stop is None else stop)
        sink.put(records(values[start:end], start))
        start = end
    for writer in sink.task._writers.values():  # type: ignore[attr-defined]  # the files of all closed file sets
        for pending in writer.pending:
            pending.wait()
    sink.stop()


def _found(folder: Path) -> dict[str, tuple[str, list[Any]]]:
    from pyarrow import parquet

    rows = files(folder) if any(folder.iterdir()) else {}
    return {
        path: (str(parquet.ParquetFile(folder / "orders" / path).schema_arrow), found) for path, found in rows.items()
    }


@settings(max_examples=40)
@given(_DOCUMENTS, st.lists(st.integers(1, 9), max_size=6), st.lists(st.integers(1, 9), max_size=6), st.integers(0, 24))
@example([{"a": None, "b": [0.5]}, {"b": [False]}], [], [1], 0)
@example([{"b": {"a": 0.5}}, {"b": {"a": True}}, {"b": 2.0}], [], [1], 1)
def test_files_do_not_depend_on_batches_or_crashes(
    documents: list[Any], first: list[int], second: list[int], crash: int
) -> None:
    values = [{key: value for key, value in row.items() if _convertible(value)} for row in documents]
    with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as crashed:
        _run(Path(whole), values, first)
        _run(Path(crashed), values, second, crash)  # its offsets were never committed
        _run(Path(crashed), values, second)
        assert _found(Path(crashed)) == _found(Path(whole))
