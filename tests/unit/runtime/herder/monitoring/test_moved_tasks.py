"""Tasks that have moved to another worker, and the last reports of their runs here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from runtime.herder.monitoring.metrics import Metrics
from runtime.herder.monitoring.progress_watch import ProgressWatch
from runtime.herder.monitoring.stalls import Stalls
from runtime.model.rate_limit import UNLIMITED
from runtime.model.states import State, TaskId
from runtime.pipeline.task.meter import Meter
from runtime.storage.statuses import StatusRecord
from tests.support.herder.herder_rig import HerderRig
from tests.support.never_called import NEVER_CALLED

TASK = TaskId("sink", 0)
LAG = "headrace_sink_record_lag"


class Scene:
    """A sink on this worker, 100 records behind."""

    def __init__(self) -> None:
        self.herder, self.now = HerderRig(), 0.0
        rig, board = self.herder, self.herder.board
        self.stalls = Stalls(board.meters, board.runs, board.notice, 60, lambda: self.now)
        self.progress = ProgressWatch(
            rig.herder, board, rig.events, self.stalls, NEVER_CALLED, 1, lambda name: UNLIMITED
        )
        engine = cast(Any, SimpleNamespace(slots=(), slots_without_core=()))
        self.metrics = Metrics(
            rig.herder, rig.statuses, board, engine, self.stalls, rig.restarts, None, lambda name: UNLIMITED,
            lambda: True,
        )  # fmt: skip

    async def start(self) -> None:
        await self.herder.run("sink", connector_class="Sink")
        meter = Meter()
        meter.behind(100, 1)
        self.herder.connectors.task_meter(TASK, self.herder.engine.running[TASK].epoch, meter.snapshot())

    def move(self) -> None:
        """The task runs on another worker now."""
        self.herder.statuses.put_task(TASK, StatusRecord(State.RUNNING, None, "w:2", 2))

    def stalled_after(self, seconds: float) -> dict[int, float]:
        self.stalls.check()
        self.now += seconds
        self.stalls.check()
        return self.stalls.stalled("sink")


async def test_a_task_that_moved_is_not_stalled_here() -> None:
    scene = Scene()
    await scene.start()
    scene.move()
    assert scene.stalled_after(100) == {}
    await scene.herder.close()


async def test_a_task_that_stalled_recovers_here_when_it_moves() -> None:
    scene = Scene()
    await scene.start()
    assert scene.stalled_after(100) == {0: 100}
    scene.move()
    assert scene.stalled_after(0) == {}
    await scene.herder.close()


async def test_the_lag_of_a_task_that_moved_is_counted_by_its_worker_only() -> None:
    scene = Scene()
    await scene.start()
    assert scene.progress.of("sink")["lag"] == {"records": 100, "ms": None}
    assert LAG in (await scene.metrics._make()).text()
    scene.move()
    assert scene.progress.of("sink")["lag"] is None
    assert LAG not in (await scene.metrics._make()).text()
    await scene.herder.close()
