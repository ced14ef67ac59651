"""Slots on the executors of a cluster."""

from __future__ import annotations

import pytest

from runtime.engine.driver.cluster import is_first_run

ERROR = (
    "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.runJob.\n: "
    "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most "
    "recent failure: Lost task {run} in stage 3.0 (TID 7) (10.0.0.2 executor 2): org.apache.spark.SparkException: "
    "Python worker exited unexpectedly (crashed)"
)


@pytest.mark.parametrize(("run", "first"), [("0.0", True), ("0.1", False), ("0.10", False)])
def test_only_the_end_of_the_first_run_is_the_end_of_the_slot(run: str, first: bool) -> None:
    assert is_first_run(ERROR.format(run=run)) is first
