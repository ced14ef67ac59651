"""Finds the rows of a batch for which a query fails, by halves, so that the other rows can be written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runtime.engine.driver.session.frames import selected, staged_rows
from runtime.engine.driver.session.spark_errors import FailureKind, described, kind_of

MOST_FAILING = 100
"""The most failing rows of a batch; each takes some thirty jobs."""


class TooManyRowsError(Exception):
    """The query fails for more rows of a batch than are looked for."""


def failing_rows(session: Any, file: str, sql: str) -> list[tuple[int, str]]:
    """The indices of the rows for which the query fails on its data, with Spark's messages. Other errors are raised."""
    from pyarrow import parquet

    rows = parquet.read_table(file)
    part = Path(f"{file}.part")
    failures: list[tuple[int, str]] = []
    waiting = [(0, rows.num_rows)]
    try:
        while waiting:
            start, end = waiting.pop()
            parquet.write_table(rows.slice(start, end - start), part, compression="none")
            message = _failure(session, str(part), sql)
            if message is None:
                continue
            if end - start > 1:
                middle = (start + end) // 2
                waiting += [(middle, end), (start, middle)]
                continue
            failures.append((start, message))
            if len(failures) > MOST_FAILING:
                raise TooManyRowsError(f"The query fails for more than {MOST_FAILING} rows of a batch: {message}")
    finally:
        part.unlink(missing_ok=True)
    return failures


def _failure(session: Any, file: str, sql: str) -> str | None:
    try:
        selected(session, staged_rows(session, [file]), sql).write.format("noop").mode("overwrite").save()
    except Exception as error:  # Spark's exceptions have no common base class
        if kind_of(error) is not FailureKind.DATA:
            raise
        return described(error)
    return None
