"""A program that writes batches to a table and maintains it as the driver does, run with the PySpark of its jars.

Reads JSON from standard input: the worker's properties, a target as in requests, steps. A step is a batch
(`rows`, `schema`: DDL; `killed`: the JVM is killed while rows are staged below this folder), `maintain` (seconds after
which versions expire), or another `target`. Prints the rows of the table after each step. Discards what a killed JVM
has left.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from runtime.engine.driver.class_path import with_packages
from runtime.engine.driver.session.maintenance import maintain
from runtime.engine.driver.session.operations import staged_batches
from tests.support.packages.lakehouse import LOCAL_SPARK
from tests.support.waiting import wait_until


def main() -> None:
    conf, target, steps = json.load(sys.stdin)
    session = SparkSession.builder.master("local[2]").config(map={**LOCAL_SPARK, **with_packages(conf)}).getOrCreate()
    left = staged_batches(session, target["format"], target, "lake")  # perhaps without a table or namespace
    for batch in left.batches():
        assert left.ranges(batch) is None
        left.discard(batch)
    states = []
    for number, step in enumerate(steps):
        target = step.get("target", target)
        if "maintain" in step:
            assert not maintain(session, target["format"], target, step["maintain"])["busy"]
        if "rows" in step:
            _write(session, target, f"0-{number}", step)
        states.append([row.asDict() for row in _table(session, target).collect()])
    print("RESULT", json.dumps(states, default=str))


def _write(session: SparkSession, target: dict[str, Any], batch: str, step: dict[str, Any]) -> None:
    """Publish a batch; a second time has no effect."""
    staged = staged_batches(session, target["format"], target, "lake")
    frame = session.createDataFrame([json.dumps(row) for row in step["rows"]], "string").selectExpr(
        f"from_json(value, '{step['schema']}') AS row"
    )
    frame, ranges = frame.select("row.*"), {"orders": {"0": [0, 1]}}
    if step.get("killed"):
        kill = _killing(session.sparkContext._gateway.proc.pid, step["killed"], len(step["rows"]) - 1)
        frame = frame.repartition(2).withColumn("text", udf(kill)("id"))
    staged.stage(batch, frame, ranges)
    assert (staged.batches(), staged.ranges(batch)) == ([batch], ranges)
    assert staged.publish(batch)
    assert not staged.publish(batch)
    assert staged.batches() == []


def _killing(jvm: int, folder: str, last: int) -> Callable[[int], str]:
    """A function of a row's number that kills the JVM at the last row, when the other half of the rows is in a file
    below a folder."""

    def kill(number: int) -> str:
        if number == last:
            wait_until(lambda: any(Path(folder).glob("**/*0-1*/**/*.parquet")), 30, "a file with rows")
            os.kill(jvm, signal.SIGKILL)
        return "x" * 1000  # more than the process of Python keeps

    return kill


def _table(session: SparkSession, target: dict[str, Any]) -> Any:
    return session.table(target["table"]) if target["table"] else session.read.format("delta").load(target["path"])


if __name__ == "__main__":
    main()
