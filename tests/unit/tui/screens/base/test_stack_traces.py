"""Stack traces as shown on the screen."""

from __future__ import annotations

from tests.unit.tui.screens.builders import connector
from tui.screens.base import stack_traces


def test_only_stack_frames_are_shortened() -> None:
    frame = "    at org.apache.kafka.connect.runtime.WorkerTask.run(WorkerTask.java:298)"
    assert stack_traces.shortened(frame) == "    at o.a.k.c.r.WorkerTask.run:298"
    inner = "    at java.base/java.util.concurrent.Executors$RunnableAdapter.call(Executors.java:539)"
    assert stack_traces.shortened(inner) == "    at j.u.c.Executors$RunnableAdapter.call:539"
    for line in ("Caused by: a.b.C: no", '  File "x.py", line 3, in at', "at noon"):
        assert stack_traces.shortened(line) == line


def test_reasons_of_failed_and_of_unassigned_tasks_are_told_apart() -> None:
    causes = stack_traces.causes(connector("a", tasks=("FAILED", "UNASSIGNED", "RESTARTING")))
    assert causes == [("why task 0 failed", ["✗ boom"]), ("why task 1 is UNASSIGNED", ["○ boom"])]
