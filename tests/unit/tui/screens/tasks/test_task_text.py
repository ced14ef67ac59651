"""The text about one task."""

from __future__ import annotations

from tui.model import Connector, Offset, Task
from tui.offsets import partitions
from tui.offsets.lag import Lag
from tui.screens.services.last_restarts import LastRestart
from tui.screens.services.offset_reader import ReadOffsets
from tui.screens.tasks.task_text import TaskFacts, of_task

TRACE = (
    "a.b.ConnectException: Exiting\n\tat a.b.C.put(C.java:1)\nCaused by: java.io.IOException: disk full\n\t... 3 more"
)
FAILED = Task(1, "FAILED", "w:8083", "4.3.0", TRACE)
NOW = 1_790_000_000.0


def connector(*tasks: Task) -> Connector:
    return Connector("orders", "sink", "RUNNING", tasks)


def places(*lags: int) -> ReadOffsets:
    entries = [
        Offset({"kafka_topic": "t", "kafka_partition": number}, {"kafka_offset": 7}) for number in range(len(lags))
    ]
    by_key = {partitions.key(entry.partition): Lag(9, lag) for entry, lag in zip(entries, lags, strict=True)}
    return ReadOffsets(tuple(entries), by_key)


def test_a_failed_task_names_its_cause_before_anything_else() -> None:
    restart = LastRestart(NOW - 240, "you", 1, "failed again after 3 s", "bad")
    facts = TaskFacts(places(0, 12), lines=[{"task": 1, "level": "ERROR", "message": "no space", "time": 1}])
    text = of_task(connector(Task(0, "RUNNING"), FAILED), FAILED, facts, restart, NOW - 60, NOW).plain
    order = ["task 1", "w:8083", "since", "(1 min ago)", "last restart", "(4 min ago), by you: failed again after 3 s"]
    order += ["root cause", "IOException: disk full", "offsets, of all 2 tasks", "2 partitions, lag 12 records"]
    order += ["t-1", "lag 12", "t-0", "log", "no space", "full trace", "a.b.C.put(C.java:1)"[:9]]
    at = 0
    for part in order:
        assert part in text[at:], f"{part!r} is not in {text[at:]!r}"
        at = text.index(part, at)


def test_a_running_task_of_another_worker_has_neither_trace_nor_log() -> None:
    task = Task(0, "RUNNING", "w:8083")
    facts = TaskFacts(ReadOffsets(), lines=None, no_lines="this worker has no log")
    text = of_task(connector(task), task, facts, None, None, NOW).plain
    assert "none known" in text and "none committed yet" in text and "this worker has no log" in text
    assert "trace" not in text and "root cause" not in text and "of all" not in text


def test_what_has_not_been_read_says_so() -> None:
    task = Task(0, "RUNNING")
    assert of_task(connector(task), task, TaskFacts(), None, None, NOW).plain.count("reading…") == 2


def test_many_partitions_are_cut_those_with_the_most_lag_first() -> None:
    task = Task(0, "RUNNING")
    text = of_task(connector(task), task, TaskFacts(places(*range(10))), None, None, NOW).plain
    assert "t-9" in text and "t-0" not in text and "and 2 more" in text
