"""The check of a start of an exactly-once task whose producer has been registered (KIP-618)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from runtime.api.errors import ConfigError
from runtime.engine.port import StartRefused
from runtime.model.states import TaskId
from runtime.model.task_spec import TaskSpec
from tests.support.herder.herder_rig import HerderRig

FIRST = TaskId("a", 0)
REPLACED = "another run of the task has replaced it"
OTHER_CONFIGS = "the connector has other task configs by now"


@pytest.fixture
async def rig() -> AsyncIterator[HerderRig]:
    rig = HerderRig(exactly_once_source_support="enabled")
    await rig.run("a", tasks_max="2")
    yield rig
    await rig.close()


async def refused(rig: HerderRig, spec: TaskSpec) -> str:
    with pytest.raises(StartRefused) as error:
        await rig.connectors.confirm_start(spec.id, spec.epoch)
    assert not error.value.final
    return str(error.value)


def generation(rig: HerderRig) -> int:
    stored = rig.configs.connector("a")
    assert stored is not None
    return stored.generation


async def test_the_offsets_are_those_committed_by_now(rig: HerderRig) -> None:
    spec = rig.engine.running[FIRST]
    assert spec.offsets == []
    await rig.store.alter("a", [({"p": 1}, {"n": 7})])
    [known] = await rig.connectors.confirm_start(spec.id, spec.epoch)
    assert (known.partition, known.offset) == ({"p": 1}, {"n": 7})


async def test_a_run_that_was_replaced_must_not_start(rig: HerderRig) -> None:
    spec = rig.engine.running[FIRST]
    rig.connectors.restart("a", connector=False, tasks={0})
    await rig.until(lambda: len(rig.engine.started) == 3)
    assert await refused(rig, spec) == REPLACED
    await rig.herder.delete("a")
    await rig.until(lambda: not rig.engine.running)
    assert await rig.connectors.settled("a")
    assert await refused(rig, spec) == "connector a does not run on this worker any more"


async def test_a_task_that_another_worker_owns_must_not_start(rig: HerderRig, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = rig.engine.running[FIRST]
    rig.engine.leased = False
    assert await refused(rig, spec) == "this worker does not own the task any more"
    rig.engine.leased = True
    monkeypatch.setattr(rig.group, "owns", lambda connector, task=-1: task != 0)
    assert await refused(rig, spec) == "this worker does not own the task any more"


async def test_task_configs_of_an_earlier_generation_must_not_run(rig: HerderRig) -> None:
    before = generation(rig)
    await rig.task_fencing.check_current("a", before)
    await rig.configs.put_tasks("a", [{"task.class": "T", "n": "0"}, {"task.class": "T", "n": "1"}])  # equal ones
    with pytest.raises(StartRefused, match=OTHER_CONFIGS):
        await rig.task_fencing.check_current("a", before)
    with pytest.raises(StartRefused, match="earlier tasks of the connector have to be fenced first"):
        await rig.task_fencing.check_current("a", generation(rig))
    await rig.until(lambda: not rig.configs.pending_fencing("a"))  # tasks start with them
    await rig.task_fencing.check_current("a", generation(rig))


async def test_a_connector_that_was_created_again_is_another_connector(rig: HerderRig) -> None:
    before, spec = generation(rig), rig.engine.running[FIRST]
    await rig.configs.remove_connector("a")
    with pytest.raises(StartRefused, match=OTHER_CONFIGS):
        await rig.task_fencing.check_current("a", before)
    await rig.create("a", tasks_max="2")
    with pytest.raises(StartRefused, match=OTHER_CONFIGS):
        await rig.task_fencing.check_current("a", before)
    await rig.until(lambda: FIRST in rig.engine.running and rig.engine.running[FIRST].epoch != spec.epoch)
    assert await refused(rig, spec) == REPLACED


async def test_tasks_of_a_connector_that_was_created_again_with_equal_configs_start_again(rig: HerderRig) -> None:
    stored = rig.configs.connector("a")
    assert stored is not None
    await rig.configs.remove_connector("a")  # read together, as by a worker that was suspended
    await rig.configs.put_connector("a", stored.config)
    await rig.configs.put_tasks("a", stored.tasks)
    await rig.until(lambda: len(rig.engine.started) == 4)


async def test_a_task_whose_offsets_cannot_be_read_fails_for_good(
    rig: HerderRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = rig.engine.running[FIRST]

    async def unresolved(*_: object) -> None:
        raise ConfigError("no value for ${env:TOPIC}")

    monkeypatch.setattr(rig.offsets, "read_to_end", unresolved)
    with pytest.raises(StartRefused, match=r"no value for .*, then restart the task") as error:
        await rig.connectors.confirm_start(spec.id, spec.epoch)
    assert error.value.final
