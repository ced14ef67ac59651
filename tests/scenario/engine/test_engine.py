"""The engine on real Spark: how fast tasks start, and recovery from the death of each process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from runtime.engine.worker.worker_folder import socket_path
from runtime.model.environment import Environment
from runtime.model.states import State, TaskId
from runtime.plugins.environments import archive, prepare
from tests.support.engine.engine_owner import engine_owner
from tests.support.engine.engine_recorder import descendants, driver_of, jvm_of, task_spec
from tests.support.engine.engine_rig import ROOT, TTL, EngineRig
from tests.support.engine.spark_client import RPC_FAILURE, gateway_command, open_blocks
from tests.support.packages.wheels import build_wheel
from tests.support.process_usage import pss_of
from tests.support.processes import alive, freeze
from tests.support.sockets import listening_ports
from tests.support.waiting import soon, until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared() -> AsyncIterator[EngineRig]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        rig = EngineRig()
        await rig.engine.start()
        await rig.ready()
        yield rig
        await rig.engine.close(1.0)


@pytest_asyncio.fixture(loop_scope="module")
async def rig(shared: EngineRig) -> AsyncIterator[EngineRig]:
    await shared.ready()
    shared.heard.__init__()  # type: ignore[misc]
    yield shared
    shared.lease = float("inf")
    for slot in shared.engine.slots:
        for task in slot.tasks:
            await shared.engine.stop_task(task, 2.0)


async def test_a_task_starts_on_a_warm_slot_within_milliseconds(
    rig: EngineRig, record_property: Callable[[str, object], None]
) -> None:
    took = []
    for number in range(60):
        started = time.perf_counter()
        spec = task_spec(f"quick-{number}")
        rig.engine.start_task(spec)
        await until(partial(rig.heard.has, spec.id, 1, State.RUNNING))
        took.append((rig.heard.states[-1][4] - started) * 1000)
        assert await rig.engine.stop_task(spec.id, 5.0)
    p50, p95 = statistics.median(took), sorted(took)[int(len(took) * 0.95)]
    print(f"start_task to RUNNING: p50 {p50:.1f} ms, p95 {p95:.1f} ms, max {max(took):.1f} ms")
    record_property("start_task_p95_ms", p95)
    assert p50 < soon(25)


async def test_a_task_that_returns_its_assignment_is_lost_and_can_be_started_again(rig: EngineRig) -> None:
    task = await rig.running("producer-died", behaviour="lose")
    await until(lambda: rig.heard.has_lost(task, 1))
    assert rig.heard.lost == [(task, 1, None, "its producer failed")]
    assert rig.heard.has(task, 1, State.UNASSIGNED) and not rig.heard.has(task, 1, State.FAILED)
    assert all(task not in slot.tasks for slot in rig.engine.slots)
    await rig.running("producer-died", 2)


async def test_pause_topics_and_logs_arrive_with_their_task(rig: EngineRig) -> None:
    task = await rig.running("talker", behaviour="talk")
    rig.engine.pause_task(task, True)
    await until(lambda: rig.heard.has(task, 1, State.PAUSED))
    await until(lambda: (task, 1, "topic-of-it") in rig.heard.topics)
    await until(lambda: ("INFO", "plugin", "hello from a plugin", "[talker|task-0]") in rig.heard.lines)


async def test_a_failure_is_reported_with_its_trace_and_affects_no_other_task(rig: EngineRig) -> None:
    neighbours = await rig.pair("sound")
    for name, behaviour in (("bad", "fail"), ("quitter", "exit")):
        failing = await rig.running(name, behaviour=behaviour)
        await until(partial(rig.heard.has, failing, 1, State.FAILED))
        assert await rig.engine.stop_task(failing, 1.0)
    assert "ValueError: the task has failed as configured" in rig.heard.trace(TaskId("bad", 0))
    assert not rig.heard.lost
    assert all(rig.slot_of(task) for task in neighbours)


async def test_a_specification_that_cannot_be_serialized_fails_the_task(rig: EngineRig) -> None:
    spec = replace(task_spec("odd"), producer={"stats_cb": print})
    rig.engine.start_task(spec)
    await until(lambda: rig.heard.has(spec.id, 1, State.FAILED))
    assert "cannot be sent between worker and slots" in rig.heard.trace(spec.id)
    assert await rig.engine.stop_task(spec.id, 1.0)


async def test_a_task_that_ends_unexpectedly_fails(rig: EngineRig) -> None:
    task = await rig.running("short", behaviour="end")
    await until(lambda: rig.heard.has(task, 1, State.FAILED))
    assert "it was not stopped" in rig.heard.trace(task)


async def test_a_slot_that_takes_too_much_memory_is_replaced(rig: EngineRig) -> None:
    fat = await rig.running("fat", behaviour="grow")
    before = rig.slot_of(fat).pid
    await until(lambda: rig.heard.lost)
    assert rig.heard.lost_tasks() == [(fat, 1)]
    assert "more than headrace.slot.memory.mb" in rig.heard.lost[0][3]
    await until(lambda: not alive(before))
    await rig.ready()


async def test_excess_log_lines_are_dropped_and_counted(rig: EngineRig) -> None:
    await rig.running("flood", behaviour="flood")
    await until(lambda: any("log lines were dropped" in line[2] for line in rig.heard.lines))


async def test_a_killed_slot_is_replaced_and_its_neighbour_unaffected(rig: EngineRig) -> None:
    await rig.running("hit", member="consumer-1")
    hit, spared = TaskId("hit", 0), await rig.running("spared")
    victim, other = rig.slot_of(hit), rig.slot_of(spared)
    rig.heard.states.clear()
    started = time.perf_counter()
    os.kill(victim.pid, signal.SIGKILL)
    await until(lambda: rig.heard.lost)
    rig.engine.start_task(task_spec("hit", epoch=2))
    await until(lambda: rig.heard.has(hit, 2, State.RUNNING))
    running = time.perf_counter() - started
    await rig.ready()
    back = time.perf_counter() - started
    print(f"after kill -9 of a slot its task runs again in {running:.2f} s, the slot is back in {back:.2f} s")
    assert [entry[:3] for entry in rig.heard.lost] == [(hit, 1, "consumer-1")]
    assert (rig.slot_of(spared).pid, rig.slot_of(spared).attempt) == (other.pid, other.attempt)


@pytest.mark.parametrize(("which", "find"), [("driver", driver_of), ("JVM", jvm_of)])
async def test_a_killed_driver_is_replaced(rig: EngineRig, which: str, find: Callable[[dict[int, str]], int]) -> None:
    tasks = await rig.pair("orphan")
    before = descendants(os.getpid())
    started = time.perf_counter()
    os.kill(find(before), signal.SIGKILL)
    await until(lambda: len(rig.heard.lost) == 2)
    lost_after = time.perf_counter() - started
    for task in tasks:
        rig.engine.start_task(task_spec(task.connector, epoch=2))
    await until(lambda: all(rig.heard.has(task, 2, State.RUNNING) for task in tasks), 60.0)
    running = time.perf_counter() - started
    print(f"after kill -9 of the {which}: loss reported in {lost_after:.2f} s, running in {running:.2f} s")
    assert sorted(rig.heard.lost_tasks()) == [(task, 1) for task in tasks]
    assert rig.slot_of(tasks[0]).slot != rig.slot_of(tasks[1]).slot
    assert not [pid for pid in before if alive(pid)]
    lines = [message for _, logger, message, _ in rig.heard.lines if logger == "runtime.engine.driver.driver"]
    assert lines == (["Spark's JVM has ended with exit code -9"] if which == "JVM" else [])


async def test_a_hanging_task_is_revoked_in_time(rig: EngineRig) -> None:
    task = await rig.running("deaf", behaviour="deaf", member="consumer-2")
    started = time.perf_counter()
    assert not await rig.engine.stop_task(task, 0.5)
    assert time.perf_counter() - started < soon(1)
    assert rig.engine.member_id(task) == "consumer-2"
    await until(lambda: not any(slot.tasks for slot in rig.engine.slots))


async def test_a_task_whose_stop_hangs_does_not_delay_others(rig: EngineRig) -> None:
    hanging = await rig.running("hang", behaviour="hang")
    stop = asyncio.create_task(rig.engine.stop_task(hanging, 1.0))
    for number in range(4):
        assert await rig.engine.stop_task(await rig.running(f"other-{number}"), 1.0)
    assert not await stop


async def test_a_slot_with_a_thread_that_cannot_be_revoked_is_replaced(rig: EngineRig) -> None:
    task = await rig.running("leak", behaviour="leak")
    stuck = rig.slot_of(task)
    assert not await rig.engine.stop_task(task, 0.2)
    spared = await rig.running("placed-elsewhere")
    assert rig.slot_of(spared).slot != stuck.slot
    await until(lambda: all(slot.pid != stuck.pid for slot in rig.engine.slots))
    assert not alive(stuck.pid)
    assert rig.heard.lost == []


async def test_a_lease_that_is_not_renewed_ends_the_slots(rig: EngineRig) -> None:
    tasks = await rig.pair("leased")
    slots = rig.engine.slots
    rig.lease = 0.0
    took = await until(lambda: not any(alive(slot.pid) for slot in slots), soon(TTL + 1))
    print(f"slots ended {took:.2f} s after the last renewals; time to live {TTL} s")
    await until(lambda: len(rig.heard.lost) == 2)
    assert not any("The lease of slot" in line[2] for line in rig.heard.lines), (
        "no stacks are logged, since no slot hangs"
    )
    assert not rig.engine.may_run()
    assert rig.heard.leases == [False]
    rig.engine.start_task(task_spec("leased-a", epoch=2))
    await rig.ready()
    assert not any(slot.tasks for slot in rig.engine.slots), "no task is placed on a slot without a lease"
    rig.lease = float("inf")
    await until(lambda: rig.heard.has(tasks[0], 2, State.RUNNING))
    assert rig.heard.leases == [False, True]


async def test_a_task_that_holds_the_gil_is_ended_and_its_stack_is_logged(rig: EngineRig) -> None:
    hog = TaskId("hog", 0)
    rig.engine.start_task(task_spec("hog", behaviour="hog"))  # it may never report RUNNING
    took = await until(lambda: (hog, 1) in rig.heard.lost_tasks(), soon(TTL * 5))
    print(f"a slot whose GIL was held was ended after {took:.2f} s; time to live {TTL} s")
    await until(lambda: any("_hog" in line[2] for line in rig.heard.lines))


async def test_a_stopped_slot_is_abandoned_and_killed(rig: EngineRig) -> None:
    task = await rig.running("frozen")
    slot = rig.slot_of(task)
    freeze(slot.pid)
    await until(lambda: (task, 1) in rig.heard.lost_tasks(), soon(TTL * 3))
    await until(lambda: not alive(slot.pid))


async def test_a_task_that_kills_its_slot_twice_is_isolated(rig: EngineRig, tmp_path: Path) -> None:
    neighbours = await rig.pair("near")
    killer, epochs = TaskId("killer", 0), dict.fromkeys(neighbours, 1)
    for epoch in (1, 2):
        trigger = tmp_path / str(epoch)
        rig.engine.start_task(task_spec("killer", epoch, behaviour="kill", when=str(trigger)))
        await until(partial(rig.heard.has, killer, epoch, State.RUNNING))
        trigger.touch()
        await until(partial(rig.heard.has_lost, killer, epoch))
        for task, at in rig.heard.lost_tasks():
            if task != killer and at == epochs[task]:
                epochs[task] += 1
                rig.engine.start_task(task_spec(task.connector, epochs[task]))
        await until(lambda: all(rig.heard.has(task, at, State.RUNNING) for task, at in epochs.items()))
    rig.heard.lost.clear()
    last = tmp_path / "last"
    rig.engine.start_task(task_spec("killer", 3, behaviour="kill", when=str(last)))
    await until(lambda: rig.heard.has(killer, 3, State.RUNNING))
    assert rig.slot_of(killer).tasks == (killer,)
    assert len(rig.engine.slots) > 2, "the task has a third slot of its own"
    last.touch()
    await until(lambda: rig.heard.lost)
    assert rig.heard.lost_tasks() == [(killer, 3)], "no other task dies with the slot"


async def test_a_dedicated_task_has_a_slot_of_its_own(rig: EngineRig) -> None:
    spec = replace(task_spec("proud"), dedicated=True)
    rig.engine.start_task(spec)
    took = await until(lambda: rig.heard.has(spec.id, 1, State.RUNNING))
    print(f"a dedicated slot was up after {took:.2f} s")
    others = [await rig.running(f"plain-{number}") for number in range(3)]
    assert rig.slot_of(spec.id).tasks == (spec.id,)
    assert not rig.slot_of(spec.id).slot < 2
    assert all(rig.slot_of(task).slot != rig.slot_of(spec.id).slot for task in others)


def _reported(rig: EngineRig, task: TaskId, version: str) -> bool:
    return (task, 1, version) in rig.heard.topics


async def test_slots_start_from_the_folders_or_the_archive_of_an_environment(rig: EngineRig, tmp_path: Path) -> None:
    specs, cache = [], tmp_path / "cache"
    for version in ("1.0", "2.0"):
        home = tmp_path / f"lib-{version}"
        build_wheel(home, "hr_lib", version, {"hr_lib.py": f"VERSION = '{version}'"})
        environment = prepare(home, cache)
        if version == "2.0":
            elsewhere = Environment(environment.id, ("/on/another/machine",), str(archive(environment, cache)))
        spec = task_spec(f"with-{version}", behaviour="library")
        specs.append(replace(spec, environment=environment if version == "1.0" else elsewhere))
    for spec in specs:
        rig.engine.start_task(spec)
    for spec, version in zip(specs, ("1.0", "2.0"), strict=True):
        took = await until(partial(_reported, rig, spec.id, version))
        print(f"a slot of an environment was up after {took:.2f} s")
    first, second = (rig.slot_of(spec.id) for spec in specs)
    assert first.pid != second.pid and min(first.slot, second.slot) >= 2


async def test_the_memory_of_a_slot_is_below_120_mb(rig: EngineRig) -> None:
    await rig.pair("measured")
    pss = [pss_of(slot.pid) / 2**20 for slot in rig.engine.slots]
    below = descendants(os.getpid())
    rss = _status(jvm_of(below), "VmRSS")
    print(f"slots: {', '.join(f'{mb:.0f} MB' for mb in pss)} (PSS); JVM {rss:.0f} MB (RSS)")
    assert all(0 < mb < 120 for mb in pss)


def _status(pid: int, key: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) / 1024


def _environment(pid: int) -> str:
    return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A temporary folder whose path is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="hr-", dir="/tmp") as folder:
        yield Path(folder)


def _folders(parent: Path) -> list[Path]:
    return list(parent.glob("headrace-*"))


@pytest.mark.parametrize("end", ["killed", "closed"])
async def test_no_process_and_no_folder_outlive_the_worker(end: str, short_folder: Path) -> None:
    owner = await engine_owner(short_folder)
    assert _folders(short_folder)
    below = descendants(owner.pid)
    assert len(below) >= 5, below
    started = time.perf_counter()
    if end == "killed":
        owner.kill()
    else:
        assert owner.stdin
        owner.stdin.write(b"\n")
    await owner.wait()
    await until(lambda: not [pid for pid in below if alive(pid)])
    print(f"worker {end}: no process remained after {time.perf_counter() - started:.2f} s")
    await until(lambda: not _folders(short_folder))


async def test_slots_of_a_suspended_worker_end_although_their_connection_is_open(tmp_path: Path) -> None:
    owner = await engine_owner(tmp_path)
    slots = [pid for pid, command in descendants(owner.pid).items() if "engine.driver.daemon" in command][1:]
    assert slots
    below = descendants(owner.pid)
    owner.send_signal(signal.SIGSTOP)
    try:
        took = await until(lambda: not [pid for pid in slots if alive(pid)], soon(TTL + 1))
        print(f"slots of a stopped worker ended {took:.2f} s after it; time to live {TTL} s")
    finally:
        owner.kill()
        await owner.wait()
    await until(lambda: not [pid for pid in below if alive(pid)])


async def test_secrets_are_in_no_command_line_and_no_environment(rig: EngineRig) -> None:
    secret = task_spec("secretive", behaviour="talk", password="of-this-task")
    rig.engine.start_task(secret)
    await until(lambda: rig.heard.has(secret.id, 1, State.RUNNING))
    for pid, command in descendants(os.getpid()).items():
        assert "of-this-task" not in command
        assert "of-this-task" not in _environment(pid)


async def test_sparks_ports_refuse_clients_without_the_secret(rig: EngineRig) -> None:
    """Without `spark.authenticate` the block manager answers this request with the slots' code."""
    jvm, refused = jvm_of(descendants(os.getpid())), 0
    for port in listening_ports(jvm):
        answer = await asyncio.to_thread(gateway_command, port)
        if b"Authentication error" in answer:
            continue  # Py4J's gateway, which has its own secret
        assert answer == b""
        kind, content = await asyncio.to_thread(open_blocks, port, "broadcast_0_piece0")
        assert kind == RPC_FAILURE
        assert b"Expected SaslMessage, received something else" in content
        refused += 1
    assert refused >= 2, "the driver's RPC port and its block manager"


async def test_a_process_that_spark_did_not_start_is_not_a_slot(rig: EngineRig) -> None:
    """The process belongs to the same user, knows the socket, and sends valid messages."""
    await until(lambda: len(rig.engine.slots) == 2, 30)  # an earlier test may have ended a slot
    slots = rig.engine.slots
    hello = {
        "op": "hello",
        "generation": 1,
        "slot": 0,
        "attempt": 9,
        "pid": slots[1].pid,
    }
    assert await _answer(rig, json.dumps(hello).encode()) == b""
    assert rig.engine.slots == slots
    assert all(alive(slot.pid) for slot in slots)


async def test_a_plugin_that_kills_its_process_group_ends_its_own_slot_only(rig: EngineRig, tmp_path: Path) -> None:
    await until(lambda: len(rig.engine.slots) == 2, 30)
    neighbour, trigger = await rig.running("beside-the-killer"), tmp_path / "now"
    killer = await rig.running("group-killer", behaviour="kill_group", when=str(trigger))
    assert rig.slot_of(killer).slot != rig.slot_of(neighbour).slot
    spared = rig.slot_of(neighbour).pid
    trigger.touch()
    await until(lambda: rig.heard.has_lost(killer, 1))
    await rig.ready()
    assert rig.slot_of(neighbour).pid == spared
    assert rig.heard.lost_tasks() == [(killer, 1)]


async def _answer(rig: EngineRig, body: bytes) -> bytes:
    """Everything that the channel answers to a first frame until it closes."""
    reader, writer = await asyncio.open_unix_connection(socket_path(rig.engine._slots._folder))
    writer.write(len(body).to_bytes(4, "big") + body)
    try:
        return await asyncio.wait_for(reader.read(), 30)
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


async def test_a_task_without_progress_is_reported_with_its_stack(rig: EngineRig) -> None:
    task = await rig.running("stuck", behaviour="stick")
    await until(lambda: (task, 1, "poll") in rig.heard.stuck)
    found = await rig.engine.stack(task, 5.0)
    assert found is not None and found.call == "poll" and found.seconds >= 1.0
    assert "_poll_that_never_returns" in found.stack
    rig.engine.pause_task(task, True)
    await until(lambda: (task, 1, "") in rig.heard.stuck)
    assert rig.heard.stuck == [(task, 1, "poll"), (task, 1, "")]


async def test_a_task_that_does_not_run_has_no_stack(rig: EngineRig) -> None:
    assert await rig.engine.stack(TaskId("nobody", 0), 5.0) is None
