"""The loss of slots: which tasks are lost, and which are suspected."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from runtime.engine.placement.remote_lease import RemoteLease
from runtime.engine.placement.roster import Roster
from runtime.engine.placement.slot_link import RemoteProcess, SlotLink, TaskRun
from runtime.engine.protocol.channel import encode
from runtime.engine.protocol.lease import stack_file
from runtime.engine.protocol.lease_cell import LeaseCell
from runtime.engine.protocol.messages import VERSION, ExecutorsMessage, FromSlot
from runtime.engine.protocol.settings import EngineSettings, SlotSettings
from runtime.engine.worker.server import SlotServer
from runtime.engine.worker.slot_watch import CORE_WAIT, SlotWatch
from runtime.engine.worker.slots import Slots
from runtime.model.states import TaskId
from runtime.system.cgroup import Cgroup
from tests.support.control_groups import Files
from tests.support.engine.engine_recorder import Recorder, ignore, slot_link, task_spec
from tests.support.waiting import until

TTL = 6.0


class Listener(Recorder):
    """Records reports; task_lost() raises `fault`."""

    fault: Exception | None = None

    def task_lost(self, task: TaskId, epoch: int, member_id: str | None, reason: str) -> None:
        super().task_lost(task, epoch, member_id, reason)
        if self.fault is not None:
            raise self.fault


class RefusingListener:
    """Refuses every slot."""

    refused = 0

    def is_slot(self, pid: int) -> bool:
        return True

    def link_up(self, link: SlotLink) -> bool:
        self.refused += 1
        return False

    def slot_unable(self, slot: int, reason: str) -> None:
        raise AssertionError(reason)

    def link_message(self, link: SlotLink, message: FromSlot) -> None:
        raise AssertionError("a refused slot has no messages")

    def link_down(self, link: SlotLink) -> None:
        raise AssertionError("a refused slot was never up")


class Rig:
    """One slot that is up, without a driver."""

    def __init__(
        self,
        folder: Path,
        ttl: float = TTL,
        membership: float = 0.0,
        conf: Mapping[str, str] | None = None,
        group: Cgroup | None = None,
    ) -> None:
        self.now, self.lease = 100.0, 60.0
        self.roster = Roster(slots=1, wait=3.0, clock=lambda: self.now, max_extra_slots=8)
        settings = EngineSettings(slots=1, lease_ttl=ttl, membership=membership, spark_conf=conf or {})
        self.settings, self.listener = settings, Listener()
        self.slots = Slots(
            settings, self.roster, self.listener, lambda: self.lease, lambda: self.now, ignore, ignore, group
        )
        self.folder = str(folder)
        self.slots.driver = cast(
            "Any",
            SimpleNamespace(
                folder=self.folder,
                pid=os.getpid(),
                generation=1,
                record_archive=ignore,
                request_slots=ignore,
                restart_slots=ignore,
                ready=True,
                trouble="",
            ),
        )

    def link(self, slot: int = 0) -> SlotLink:
        LeaseCell.create(self.folder, slot, os.getpid())
        link = slot_link(slot, self.now, leased=False)
        link.process = cast("Any", SimpleNamespace(pid=os.getpid(), signal=ignore, close=ignore))
        return link

    def up(self, slot: int = 0) -> SlotLink:
        link = self.link(slot)
        assert self.slots.link_up(link)
        return link

    def with_task(self) -> SlotLink:
        link, task = self.up(), TaskRun(task_spec("a"))
        self.roster.tasks[task.spec.id] = task
        link.add(task)
        return link

    @property
    def suspected(self) -> bool:
        return self.roster.suspects.any


class RemoteRig(Rig):
    """The slot is on another machine."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, conf={"spark.master": "spark://elsewhere:7077"})

    def link(self, slot: int = 0) -> SlotLink:
        link = slot_link(slot, self.now, leased=False)
        link.process, link.cell = RemoteProcess(4711, "elsewhere"), RemoteLease()
        return link


@pytest.fixture
def remote(tmp_path: Path) -> RemoteRig:
    return RemoteRig(tmp_path)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


async def test_a_slot_that_dies_by_itself_makes_its_tasks_suspects(rig: Rig) -> None:
    rig.slots.link_down(rig.with_task())
    assert rig.suspected
    assert len(rig.listener.lost) == 1


async def test_a_remote_slot_that_dies_makes_its_tasks_suspects_when_spark_reports_its_end(remote: RemoteRig) -> None:
    link = remote.with_task()
    cast("RemoteLease", link.cell).promise(remote.now)
    remote.slots.link_down(link)
    assert not remote.listener.lost
    remote.slots.driver_report({"op": "slot_ended", "slot": 0, "attempt": 1})
    assert remote.suspected
    assert len(remote.listener.lost) == 1


async def test_no_task_is_suspected_when_a_remote_slot_was_cut_off(remote: RemoteRig) -> None:
    link = remote.with_task()
    cast("RemoteLease", link.cell).promise(remote.now)
    remote.slots.drop(link, "it has not answered", kill=True)
    remote.slots.driver_report({"op": "slot_ended", "slot": 0, "attempt": 1})
    assert not remote.suspected
    assert len(remote.listener.lost) == 1


async def test_no_task_is_suspected_when_the_lease_had_expired(rig: Rig) -> None:
    link = rig.with_task()
    rig.now += TTL + 0.1
    rig.slots.link_down(link)
    assert not rig.suspected
    assert len(rig.listener.lost) == 1


async def test_a_slot_whose_lease_has_expired_gets_no_tasks_after_the_membership_is_confirmed_again(rig: Rig) -> None:
    link = rig.up()
    rig.slots.check_leases()
    assert link.leased
    rig.now += TTL + 0.1
    rig.slots.check_leases()
    assert not link.leased


async def test_a_slot_that_connected_without_a_membership_gets_its_lease_before_its_first_task(rig: Rig) -> None:
    rig.lease = 0.0
    link = rig.up()
    rig.slots.check_leases()
    assert not link.leased
    rig.lease = 60.0
    rig.slots.check_leases()
    assert link.leased
    assert link.cell is not None and link.cell.deadline == rig.now + TTL


async def test_a_slot_without_a_grant_gets_no_tasks(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The membership may expire between its confirmation and the grant."""
    rig.lease = 0.0
    link = rig.up()
    monkeypatch.setattr(rig.slots.granter, "renew", ignore)
    rig.lease = 60.0
    rig.slots.check_leases()
    assert not link.leased


async def test_the_slots_of_a_worker_that_was_frozen_are_not_lost(tmp_path: Path) -> None:
    """Their answers have arrived, but it has not read them yet."""
    rig = Rig(tmp_path, membership=60.0)
    link, watch = rig.with_task(), SlotWatch(rig.roster, rig.settings, lambda: rig.now)
    rig.slots.check(watch)
    rig.now += TTL * 2
    rig.slots.check(watch)
    rig.slots.link_message(link, {"op": "alive", "memory": 1, "java_memory": 0, "java_heap": 0})
    rig.now += watch.every
    rig.slots.check(watch)
    assert rig.roster.links == {0: link}
    for _ in range(6):  # a slot that is silent while the worker runs
        rig.now += watch.every
        rig.slots.check(watch)
    assert not rig.roster.links


async def test_the_jvm_of_a_slot_that_is_too_large_is_ended_once(rig: Rig) -> None:
    link = rig.up()
    sent: list[bytes] = []
    link.writer = cast("Any", SimpleNamespace(is_closing=lambda: False, write=sent.append))
    link.memory, link.java_memory = 301, 250
    watch = SlotWatch(rig.roster, EngineSettings(slots=1, lease_ttl=TTL, slot_memory=300), lambda: rig.now)
    for _ in range(2):  # before the slot reports its memory again
        rig.slots.check(watch)
    assert sum(b"end_java" in frame for frame in sent) == 1
    assert link.memory == 51


async def test_no_task_is_suspected_when_the_driver_ends(rig: Rig) -> None:
    rig.with_task()
    rig.slots.driver_ended()
    assert not rig.roster.links
    assert not rig.suspected


async def test_slots_are_still_checked_after_an_error(tmp_path: Path) -> None:
    ttl = 0.003  # slots are checked three times within it
    rig = Rig(tmp_path, ttl)
    rig.listener.fault = ValueError("a fault of the listener")
    watching = asyncio.create_task(rig.slots._watch())
    async with asyncio.timeout(30):
        for _ in range(2):
            rig.with_task()
            rig.now += ttl + 0.1
            await until(lambda: not rig.roster.links)
    watching.cancel()


async def test_a_slot_reserved_for_tasks_that_are_lost_with_its_former_process_is_refused(rig: Rig) -> None:
    """A slot of a suspect task: when its process dies, its tasks get new cells, so the slot is no longer
    needed."""
    number = rig.roster.extras.add("cell", rig.now)
    assert number is not None
    link, task = rig.up(number), TaskRun(task_spec("a"))
    rig.roster.tasks[task.spec.id] = task
    link.add(task)
    again = rig.link(number)
    assert not rig.slots.link_up(again)
    assert number not in rig.roster.links
    assert len(rig.listener.lost) == 1


async def test_stacks_of_a_slot_that_answered_again_are_not_logged_with_its_later_loss(
    rig: Rig,
) -> None:
    rig.lease = 1000.0
    link, watch = rig.with_task(), SlotWatch(rig.roster, EngineSettings(slots=1, lease_ttl=TTL), lambda: rig.now)
    stack = stack_file(rig.folder, link.slot, link.process.pid)
    for silent, text in ((True, "former stack"), (False, ""), (True, "later stack")):
        rig.now += TTL / 2
        rig.slots.granter.renew()
        rig.now += TTL / 2
        rig.slots.granter.renew()
        rig.now += 0.1
        if not silent:
            link.heard = rig.now
        rig.slots.check(watch)
        assert (link.silence is not None) is silent
        with stack.open("a") as file:
            file.write(text)
    assert stack.read_text() == "later stack"
    rig.slots.drop(link, "test")
    ((_, _, line, _),) = rig.listener.lines
    assert "later stack" in line
    assert "former stack" not in line


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors cannot be counted here")
async def test_a_refused_slot_leaves_no_file_descriptor_open(tmp_path: Path) -> None:
    listener, path = RefusingListener(), str(tmp_path / "slots.sock")
    slots = SlotServer(listener, lambda: 0.0)
    await slots.start(path)

    async def refused() -> int:
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(
            encode({"op": "hello", "version": VERSION, "generation": 1, "slot": 0, "attempt": 1, "room": None})
        )
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
        return _open_descriptors()

    before = await refused()
    for _ in range(5):
        after = await refused()
    await slots.close()
    assert listener.refused == 6
    assert after <= before


def _open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_health_says_why_a_slot_cannot_start(rig: Rig, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Until one is up. Slots cannot create their files where the disk is full."""
    path = str(tmp_path / "slots.sock")
    server = SlotServer(rig.slots, lambda: 0.0)
    await server.start(path)
    folder = tmp_path / "missing"
    settings = SlotSettings(path, 1, 0, 1, TTL, "tests.support.engine.scripted_task_runner:ScriptedRunner", str(folder))
    code = f"from runtime.engine.slot.slot import SlotSettings, serve; serve({settings!r}, [])"
    for _ in range(2):
        slot = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stderr=asyncio.subprocess.DEVNULL)
        assert await slot.wait() == 0
        await until(lambda: "missing" in rig.slots.trouble)
    assert rig.slots.trouble == f"Slot 0 cannot start: {folder}: No such file or directory"
    assert caplog.text.count("cannot start") == 1
    rig.up()
    assert rig.slots.trouble == ""
    await server.close()


async def test_tasks_without_a_core_are_unassigned_with_the_reason(
    remote: RemoteRig, caplog: pytest.LogCaptureFixture
) -> None:
    """Until their slot gets a core. Tasks that have slots, or that start in a moment, are not reported."""
    remote.with_task().leased = True
    lonely = TaskRun(replace(task_spec("lonely"), dedicated=True))
    remote.roster.add(lonely)
    assert not list(remote.roster.placements()), "its slot is requested"
    executors: ExecutorsMessage = {"op": "executors", "waiting": [1], "leaving": []}

    def check(seconds: float) -> list[str]:
        remote.now += seconds
        remote.slots._core_waits.check()
        return [f"{task}: {state}: {trace}" for task, _, state, trace, _ in remote.listener.states]

    remote.slots.driver_report(executors)
    assert (check(CORE_WAIT - 1), remote.slots.without_core) == ([], []), "an executor may be starting"
    reason = "Waiting for a core: slot(s) 1 have none on spark://elsewhere:7077. Add executors or cores"
    (reported,) = check(2)
    assert reported.startswith(f"lonely-0: UNASSIGNED: {reason}")
    assert len(check(60)) == 1, "once"
    assert caplog.text.count("Slot(s) 1 wait for a core") == 1
    assert remote.slots.without_core == [1]
    remote.slots.driver_report({**executors, "waiting": []})
    assert check(1)[1:] == ["lonely-0: UNASSIGNED: None"]
    assert remote.slots.without_core == []


async def test_a_slot_remains_requested_while_its_task_waits_for_an_executor(
    remote: RemoteRig, caplog: pytest.LogCaptureFixture
) -> None:
    """Which may take minutes: the task keeps its reason, and is not said to wait for another one."""
    link = remote.with_task()
    link.leased = True
    remote.roster.add(TaskRun(replace(task_spec("lonely"), dedicated=True)))
    assert not list(remote.roster.placements()), "its slot is requested"
    remote.slots.driver_report({"op": "executors", "waiting": [1], "leaving": []})
    watch = SlotWatch(remote.roster, remote.settings, lambda: remote.now)
    for _ in range(100):
        remote.now += 2.0
        link.heard = remote.now
        remote.slots.check(watch)
        list(remote.roster.placements())
    ((_, _, state, trace, _),) = remote.listener.states
    assert (state, (trace or "")[:18]) == ("UNASSIGNED", "Waiting for a core")
    assert caplog.text.count("Slot(s) 1 wait for a core") == 1
    assert "raise headrace.slots" not in caplog.text
    del remote.roster.tasks[TaskId("lonely", 0)]
    remote.slots.check(watch)
    assert remote.roster.extras.numbers == [0], "its task was stopped"


async def test_shared_tasks_wait_for_a_core_only_if_no_slot_has_room(remote: RemoteRig) -> None:
    task = TaskRun(task_spec("a"))
    remote.roster.add(task)
    assert remote.roster.waiting_for([0]) == [task]
    remote.up().leased = True
    assert remote.roster.waiting_for([0]) == []


@pytest.mark.parametrize("end", ["slot", "driver", "another process"])
async def test_the_log_says_that_the_kernel_has_ended_a_process(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, end: str
) -> None:
    files = Files(tmp_path)
    group = files.version_2(memory__max=str(512 << 20), memory__events="oom 4\noom_kill 4")
    rig = Rig(tmp_path, group=group)
    link = rig.up()
    (files.groups / "unified" / "memory.events").write_text("oom 5\noom_kill 5\n")
    if end == "slot":
        rig.slots.link_down(link)
    elif end == "driver":
        rig.slots.driver_ended()
    watch = SlotWatch(rig.roster, rig.settings, lambda: rig.now)
    for _ in range(2):  # once
        rig.slots.check(watch)
    (line,) = [record.getMessage() for record in caplog.records if "memory" in record.getMessage()]
    assert line.startswith(
        "Out of memory: the kernel has ended 1 process of this worker because the memory limit of 512 MB was used up. "
    )
    assert "headrace.slot.memory.mb" in line
