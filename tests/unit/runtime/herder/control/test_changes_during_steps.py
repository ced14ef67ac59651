"""A connector's control loop when connectors are stopped, deleted, created again or moved while it is busy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence

from runtime.herder.group.group import SoleWorker
from runtime.host.port import HOST_ABSENT, HostError
from runtime.kafka.group.protocol import CONNECTOR
from runtime.model.states import State, TargetState, TaskId
from runtime.storage.statuses import StatusRecord
from tests.support.herder.herder_rig import HerderRig


async def test_a_stop_and_a_resume_during_one_step_leave_no_connector_without_tasks(rig: HerderRig) -> None:
    """The loop is busy and sees neither."""
    await rig.run("a")
    may_stop = await rig.busy("a")
    await rig.herder.stop("a")
    await rig.herder.set_target("a", TargetState.STARTED)
    rig.engine.started.clear()
    may_stop.set()
    await rig.until(lambda: rig.engine.started != [] and rig.runs("a"))
    assert len(rig.herder.stored("a").tasks) == 1


async def test_a_stop_writes_no_other_task_configs_than_none(rig: HerderRig) -> None:
    """The loop sees the removal of the task configs before the target state."""
    await rig.run("a")
    log = rig.logs.by_topic["c"]
    log.written.clear()
    await rig.configs.put_tasks("a", [])
    await rig.until(lambda: rig.tasks("a") == {})
    await rig.configs.put_target_state("a", TargetState.STOPPED)
    await rig.until(lambda: rig.state("a") is State.STOPPED)
    assert [key for key, _ in log.written] == [b"commit-a", b"target-state-a"]


async def test_a_paused_connector_without_tasks_has_no_task_statuses(rig: HerderRig) -> None:
    """Such a status is of a connector of the same name that was deleted: its worker has reported late."""
    await rig.create("a", TargetState.PAUSED)
    await rig.until(lambda: rig.state("a") is State.PAUSED)
    rig.statuses.put_task(TaskId("a", 0), StatusRecord(State.UNASSIGNED, None, "gone:1", 1))
    rig.connectors.report_again("a")
    await rig.until(lambda: rig.tasks("a") == {})


async def test_a_deleted_connector_is_unassigned_before_its_status_is_removed(rig: HerderRig) -> None:
    await rig.run("a")
    await rig.herder.delete("a")
    await rig.until(lambda: rig.state("a") is None)
    for key in (b"status-connector-a", b"status-task-a-0"):
        values = [value for k, value in rig.logs.by_topic["s"].written if k == key]
        assert values[-1] is None
        assert values[-2] is not None
        assert b'"UNASSIGNED"' in values[-2]


async def test_task_records_of_deleted_connectors_are_forgotten_after_the_topic_was_read(rig: HerderRig) -> None:
    await rig.configs.put_tasks("gone", [{"task.class": "T"}])  # the only record left after compaction
    await rig.run("a")
    rig.configs.forget_deleted()
    assert list(rig.configs._entries) == ["a"]
    await rig.create("gone", TargetState.STOPPED)
    stored = rig.configs.connector("gone")
    assert stored is not None
    assert stored.tasks == ()


class Shrinking(SoleWorker):
    """Owns everything except the units in `revoked`, which must stop here."""

    def __init__(self, worker_id: str, connectors: Callable[[], Sequence[str]]) -> None:
        super().__init__(worker_id, connectors)
        self.revoked: set[int] = set()

    def owns(self, connector: str, task: int = CONNECTOR) -> bool:
        return task not in self.revoked

    def units(self, connector: str) -> frozenset[int]:
        return frozenset(self.revoked)

    def stopped(self, connector: str, tasks: Collection[int]) -> None:
        self.revoked -= set(tasks)


async def test_what_moves_to_another_worker_is_released_although_the_rest_cannot_be_started(rig: HerderRig) -> None:
    async def absent(cls: str) -> None:
        raise HostError(HOST_ABSENT, "The plugin host is absent", "trace")

    rig.connectors._group = group = Shrinking("w:1", rig.configs.names)
    await rig.run("a", tasks_max="2")
    rig.plugins.on_resolve = absent
    group.revoked = {1}
    rig.connectors.ownership_changed()
    await rig.until(lambda: not group.revoked)
    assert set(rig.engine.running) == {TaskId("a", 0)}


class Departing(SoleWorker):
    """Owns everything until it has `left`; then everything must stop here."""

    left = False

    def owns(self, connector: str, task: int = CONNECTOR) -> bool:
        return not self.left

    def owns_any(self, connector: str) -> bool:
        return not self.left


async def test_a_connector_that_is_deleted_between_two_owners_has_no_status(rig: HerderRig) -> None:
    rig.connectors._group = group = Departing("w:1", rig.configs.names)
    await rig.run("a")
    group.left = True
    rig.connectors.config_changed("a")
    await rig.until(lambda: rig.state("a") is State.UNASSIGNED and "a" not in rig.connectors._loops)
    await rig.configs.remove_connector("a")
    await rig.until(lambda: rig.state("a") is None and rig.tasks("a") == {})


async def test_a_deleted_connector_has_no_status_although_the_rebalance_is_faster_than_its_loop(rig: HerderRig) -> None:
    rig.connectors._group = group = Departing("w:1", rig.configs.names)
    await rig.run("a")
    may_stop = await rig.busy("a")
    await rig.herder.delete("a")
    group.left = True
    may_stop.set()
    await rig.until(lambda: not rig.engine.running and "a" not in rig.connectors._loops)
    assert rig.state("a") is None


async def test_tasks_that_are_handed_over_after_their_connector_was_stopped_have_no_status(rig: HerderRig) -> None:
    rig.connectors._group = group = Departing("w:1", rig.configs.names)
    await rig.run("a", tasks_max="2")
    group.left = True
    await rig.configs.put_tasks("a", [])
    await rig.until(lambda: not rig.engine.running)
    await rig.until(lambda: rig.tasks("a") == {})


async def test_a_worker_that_hands_over_removes_no_status_of_a_task_that_it_does_not_know_yet(rig: HerderRig) -> None:
    """It was frozen: it has read the status of another worker's new task, and not its config."""
    rig.connectors._group = group = Departing("w:1", rig.configs.names)
    await rig.run("a")
    rig.statuses.put_task(TaskId("a", 1), StatusRecord(State.RUNNING, None, "w:2", 1))
    group.left = True
    rig.connectors.ownership_changed()
    await rig.until(lambda: "a" not in rig.connectors._loops)
    assert rig.tasks("a") == {0: State.UNASSIGNED, 1: State.RUNNING}


async def test_the_secrets_of_a_deleted_connector_are_hidden_until_its_tasks_have_ended(rig: HerderRig) -> None:
    """The leader may remove its statuses before that."""
    await rig.run("a", db_password="marked-secret")
    may_stop = await rig.busy("a")
    await rig.configs.remove_connector("a")
    rig.board.changed_elsewhere("a", removed=True)
    hidden = rig.secrets.scrub("marked-secret")
    may_stop.set()
    await rig.until(lambda: "a" not in rig.connectors._loops)
    assert "marked-secret" not in hidden
    assert rig.secrets.scrub("marked-secret") == "marked-secret", "nothing is kept for ever"


async def test_the_secrets_of_a_connector_that_was_handed_over_are_forgotten_when_it_is_deleted(rig: HerderRig) -> None:
    rig.connectors._group = group = Departing("w:1", rig.configs.names)
    await rig.run("a", db_password="marked-secret")
    group.left = True
    rig.connectors.config_changed("a")
    await rig.until(lambda: "a" not in rig.connectors._loops)
    assert rig.secrets.scrub("marked-secret") != "marked-secret", "its last log lines may still arrive"
    await rig.configs.remove_connector("a")
    assert rig.secrets.scrub("marked-secret") == "marked-secret"


class Succeeding(SoleWorker):
    """Owns everything; another worker owned it, and seems to run it until the members of the group are read."""

    is_read = False

    def runs_elsewhere(self, worker_id: str, connector: str, task: int) -> bool:
        return worker_id == "w:2" and not self.is_read


async def test_a_task_of_an_earlier_owner_has_no_status_when_the_members_of_the_group_are_read(rig: HerderRig) -> None:
    """Its connector was stopped while it moved: the earlier owner has reported the task as UNASSIGNED."""
    rig.connectors._group = group = Succeeding("w:1", rig.configs.names)
    rig.statuses.put_task(TaskId("a", 0), StatusRecord(State.UNASSIGNED, None, "w:2", 1))
    await rig.create("a", TargetState.STOPPED)
    await rig.until(lambda: rig.state("a") is State.STOPPED)
    assert await rig.connectors.settled("a")
    assert rig.tasks("a") == {0: State.UNASSIGNED}
    group.is_read = True
    rig.connectors.remove_ghosts()
    await rig.until(lambda: rig.tasks("a") == {})


async def test_a_task_of_a_deleted_connector_is_not_started_again_after_its_restart(rig: HerderRig) -> None:
    await rig.create("a", version="1")
    await rig.until(lambda: TaskId("a", 0) in rig.engine.running)
    may_end = await rig.busy("a")
    await rig.configs.remove_connector("a")
    rig.plugins.on_start = _never
    await rig.create("a", version="2")
    may_end.set()
    await rig.until(lambda: rig.plugins.starts == ["a", "a"])
    assert rig.engine.started == [TaskId("a", 0)], "only the first connector has started a task"


async def test_task_configs_of_a_deleted_connector_are_not_stored_for_the_next_one(rig: HerderRig) -> None:
    """The connector is deleted and created again while its task configs are being generated."""

    async def create_again(name: str) -> None:
        rig.plugins.on_task_configs = _never
        await rig.configs.remove_connector(name)
        await rig.create(name, version="2")

    rig.plugins.on_task_configs = create_again
    await rig.create("a", version="1", tasks_max="2")
    await rig.until(lambda: rig.plugins.starts == ["a", "a"])
    stored = rig.configs.connector("a")
    assert stored is not None
    assert stored.tasks == () and rig.engine.started == []


async def test_tasks_of_a_deleted_connector_end_although_the_next_one_is_paused(rig: HerderRig) -> None:
    """A worker that was frozen reads the deletion and the next creation at once."""
    await rig.run("a", tasks_max="2")
    paused = b'{"state":"PAUSED","state.v2":"PAUSED"}'
    created = b'{"properties":{"name":"a","connector.class":"Source"}}'
    await rig.logs.by_topic["c"].write_all(
        [(b"connector-a", None), (b"target-state-a", paused), (b"connector-a", created)]
    )
    await rig.until(lambda: rig.state("a") is State.PAUSED)
    assert await rig.connectors.settled("a")
    assert rig.engine.running == {}
    assert rig.tasks("a") == {}


class Sharing(SoleWorker):
    """Another worker has task 0."""

    def owns(self, connector: str, task: int = CONNECTOR) -> bool:
        return task != 0


async def test_the_status_of_the_next_connectors_task_remains_when_a_deleted_ones_tasks_end(rig: HerderRig) -> None:
    """The other worker runs the task before this one has read the deletion."""
    rig.connectors._group = Sharing("w:1", rig.configs.names)
    await rig.create("a", tasks_max="2")
    await rig.until(lambda: rig.tasks("a") == {1: State.RUNNING})
    rig.statuses.put_task(TaskId("a", 0), StatusRecord(State.RUNNING, None, "w:2", 1))
    created = b'{"properties":{"name":"a","connector.class":"Source","tasks.max":"1"}}'
    tasks = [(b"task-a-0", b'{"properties":{"task.class":"T"}}'), (b"commit-a", b'{"tasks":1}')]
    await rig.logs.by_topic["c"].write_all([(b"connector-a", None), (b"connector-a", created), *tasks])
    await rig.until(lambda: not rig.engine.running)
    assert await rig.connectors.settled("a")
    assert rig.tasks("a") == {0: State.RUNNING}


async def _never(_: str) -> None:
    await asyncio.Event().wait()


async def test_a_task_that_moves_during_its_restart_is_unassigned(rig: HerderRig) -> None:
    rig.connectors._group = group = Departing("w:1", rig.configs.names)
    await rig.run("a")
    await rig.connectors._loops["a"].tasks.stop_all()  # the restart waits for fencing, say
    group.left = True
    rig.connectors.ownership_changed()
    await rig.until(lambda: rig.tasks("a") == {0: State.UNASSIGNED})


async def test_a_status_that_another_worker_writes_late_for_a_removed_task_is_removed(rig: HerderRig) -> None:
    await rig.run("a")
    assert await rig.connectors.settled("a")
    rig.statuses.put_task(TaskId("a", 1), StatusRecord(State.UNASSIGNED, None, "w:2", 1))
    rig.connectors.report_again("a")
    await rig.until(lambda: set(rig.tasks("a")) == {0})


async def test_topics_are_those_of_the_connector_that_has_used_them(rig: HerderRig) -> None:
    """A task that is stopping reports its last topic; that of a deleted connector is not the next one's."""
    task = TaskId("a", 0)
    await rig.run("a")
    may_stop = await rig.busy("a")
    rig.connectors.task_topic(task, 1, "used")
    assert rig.statuses.topics("a") == ["used"]
    await rig.configs.remove_connector("a")
    await rig.create("a")
    rig.connectors.task_topic(task, 1, "of the deleted one")
    assert "of the deleted one" not in rig.statuses.topics("a")
    rig.engine.started.clear()
    may_stop.set()
    await rig.until(lambda: rig.engine.started == [task])
    rig.connectors.task_topic(task, 2, "of the next one")
    assert "of the next one" in rig.statuses.topics("a")
