"""Slots on the executors of a cluster."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from runtime.engine.driver.cluster import FORGOTTEN, ExecutorWatch, is_first_run
from runtime.engine.driver.executor_profiles import ExecutorProfiles
from runtime.model.executor_size import ANY_SIZE, ExecutorSize

ERROR = (
    "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.runJob.\n: "
    "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most "
    "recent failure: Lost task {run} in stage 3.0 (TID 7) (10.0.0.2 executor 2): org.apache.spark.SparkException: "
    "Python worker exited unexpectedly (crashed)"
)


@pytest.mark.parametrize(("run", "first"), [("0.0", True), ("0.1", False), ("0.10", False)])
def test_only_the_end_of_the_first_run_is_the_end_of_the_slot(run: str, first: bool) -> None:
    assert is_first_run(ERROR.format(run=run)) is first


def test_executors_have_one_size_without_dynamic_allocation(caplog: pytest.LogCaptureFixture) -> None:
    profiles = ExecutorProfiles("spark://master:7077", {"spark.dynamicAllocation.enabled": "false"})
    assert [profiles.of(ExecutorSize(512, 2)) for _ in range(2)] == [None, None]
    assert len(caplog.records) == 1
    assert profiles.of(ANY_SIZE) is None


@pytest.mark.parametrize(
    ("master", "executor"),
    [("spark://master:7077", {"memory": 2560}), ("yarn", {"memory": 2048, "memoryOverhead": 512})],
)
def test_a_profile_has_the_memory_of_the_slot_besides_that_of_the_executor(
    master: str, executor: dict[str, int]
) -> None:
    """Standalone clusters count the heap of executors only. Each size has one profile."""
    conf = {"spark.dynamicAllocation.enabled": "true", "spark.executor.memory": "2g"}
    profiles = ExecutorProfiles(master, conf)
    found = profiles.of(ExecutorSize(512, 2))
    assert {name: request.amount for name, request in found.executorResources.items()} == {"cores": 2, **executor}
    assert {name: request.amount for name, request in found.taskResources.items()} == {"cpus": 2}
    assert profiles.of(ExecutorSize(512, 2)) is found


class _Watch(ExecutorWatch):
    def _executor_of(self, slot: int) -> str | None:
        return self._context.executor or None


class WatchedApplication:
    """A SparkContext with what the watch asks for: `executor` runs the tasks of all slots."""

    def __init__(self, master: str) -> None:
        self.master, self.executor, self.stopped = master, "1", False
        self.ends = list[str]()
        self._jsc = SimpleNamespace(sc=lambda: SimpleNamespace(
            isStopped=lambda: self.stopped, schedulerBackend=lambda: SimpleNamespace(isExecutorActive=bool)
        ))  # fmt: skip
        self.watch = _Watch(self, lambda: {0, 1}, lambda report: None, self.ends.append)

    def check(self, times: int) -> list[str]:
        for _ in range(times):
            self.watch.check()
        return self.ends


def test_the_end_of_the_application_is_reported() -> None:
    application = WatchedApplication("yarn")
    assert application.check(1) == []
    application.stopped = True
    assert application.check(1) == ["The cluster has ended Spark's application"]


@pytest.mark.parametrize(("master", "had", "ends"), [("spark://m:1", "1", 1), ("spark://m:1", "", 0), ("yarn", "1", 0)])
def test_an_application_that_has_lost_all_executors_for_long_is_registered_again(
    master: str, had: str, ends: int
) -> None:
    application = WatchedApplication(master)
    application.executor = had
    application.check(1)
    application.executor = ""
    assert application.check(FORGOTTEN - 1) == []
    assert len(application.check(1)) == ends
