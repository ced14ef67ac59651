"""STALLED: work is waiting and none is done. The tests control the clock."""

from __future__ import annotations

from runtime.herder.monitoring.stalls import Stalls
from runtime.herder.status.meter_board import MeterBoard
from runtime.model.states import State, TaskId
from runtime.pipeline.task.meter import Meter

TASK = TaskId("c", 0)


class Scene:
    """A task, its meter, and the notices about it."""

    def __init__(self) -> None:
        self.now, self.running = 0.0, True
        self.levels: list[str] = []
        self.board, self.meter = MeterBoard(), Meter()

        def notice(level: str, words: str, task: TaskId) -> None:
            self.levels.append(level)

        self.stalls = Stalls(self.board, lambda task: self.running, notice, 60, lambda: self.now)

    def after(self, seconds: float) -> list[str]:
        self.now += seconds
        self.board.report(TASK, 1, self.meter.snapshot())
        self.stalls.check()
        return self.levels


def test_a_sink_with_lag_and_without_puts_is_stalled_until_it_continues() -> None:
    scene = Scene()
    scene.meter.fetched(10)
    assert scene.after(0) == []
    assert scene.after(59) == []
    assert scene.after(1) == ["WARN"]
    assert scene.after(600) == ["WARN"]  # once
    assert scene.stalls.stalled("c") == {0: 660}
    scene.meter.put(5, 0.1, -1)
    scene.meter.behind(5, 1)
    assert scene.after(1) == ["WARN", "INFO"]
    assert scene.stalls.stalled("c") == {}


def test_slow_progress_or_no_lag_is_not_a_stall() -> None:
    scene = Scene()
    for _ in range(10):
        scene.meter.fetched(2)
        scene.meter.put(1, 0.1, -1)
        assert scene.after(50) == []
    scene.meter.behind(0, 1)
    scene.meter.active = 0
    assert scene.after(1000) == scene.after(1000) == []


def test_a_source_whose_records_are_not_acknowledged_is_stalled() -> None:
    scene = Scene()
    scene.meter.polled(3, 0.1)
    assert scene.after(0) == scene.after(100) == []  # all records were filtered
    scene.meter.handed_over(3)
    assert scene.after(0) == []
    assert scene.after(60) == ["WARN"]
    scene.meter.acknowledged(0)
    assert scene.after(1) == ["WARN", "INFO"]
    assert scene.meter.written == 3


def test_a_task_that_does_not_run_is_not_stalled() -> None:
    scene = Scene()
    scene.meter.fetched(10)
    scene.after(0)
    scene.running = False
    assert scene.after(100) == []


def test_totals_rise_over_restarts() -> None:
    board, meter = MeterBoard(), Meter()
    meter.polled(7, 0.1)
    board.report(TASK, 1, meter.snapshot())
    board.report(TASK, 2, Meter().snapshot())
    board.report(TASK, 1, meter.snapshot())  # a late report of the previous run
    assert board.by_task("c")[0].total("read") == 7
    for epoch, states in enumerate(([State.RUNNING, State.FAILED], [State.FAILED], [State.PAUSED, State.RUNNING])):
        board.started(TASK, epoch)
        for state in states:
            board.task_state(TASK, epoch, state)
    assert board.restarts[TASK] == 2
    assert (board.startups["task", True], board.startups["task", False]) == (2, 1)
    board.forget("c")
    assert board.connectors() == []
