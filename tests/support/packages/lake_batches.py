"""A program that writes batches to a table and maintains it as the driver does, run with the PySpark of its jars.

Reads JSON from standard input: the worker's properties, a target as in requests, steps. A step is a batch
(`rows`, `schema`: DDL), `maintain` (seconds after which versions expire), or another `target`. Prints the rows of the
table after each step.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import SparkSession

from runtime.engine.driver.class_path import with_packages
from runtime.engine.driver.session.maintenance import maintain
from runtime.engine.driver.session.operations import staged_batches
from tests.support.packages.lakehouse import LOCAL_SPARK


def main() -> None:
    conf, target, steps = json.load(sys.stdin)
    session = SparkSession.builder.master("local[2]").config(map={**LOCAL_SPARK, **with_packages(conf)}).getOrCreate()
    assert staged_batches(session, target["format"], target, "lake").batches() == []  # without a table or namespace
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
    ranges = {"orders": {"0": [0, 1]}}
    staged.stage(batch, frame.select("row.*"), ranges)
    assert (staged.batches(), staged.ranges(batch)) == ([batch], ranges)
    assert staged.publish(batch)
    assert not staged.publish(batch)
    assert staged.batches() == []


def _table(session: SparkSession, target: dict[str, Any]) -> Any:
    return session.table(target["table"]) if target["table"] else session.read.format("delta").load(target["path"])


if __name__ == "__main__":
    main()
