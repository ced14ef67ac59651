"""Time limits that count only time in which processes could run."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.system.scheduling import MAX_STRETCH, ProcessTree, RunLimit, within
from tests.support.clock import Clock
from tests.support.engine.starvation import Starved
from tests.support.waiting import wait_until

SECONDS = 10.0


def seconds_until_over(share: float) -> float:
    """When a limit of SECONDS ends, for processes that wait for a processor for this part of the time."""
    clock = Clock()
    limit = RunLimit(SECONDS, (), clock, lambda pids: Starved(pids, clock, share))
    while not limit.over():
        clock.now += 1
    return clock.now


def test_processes_that_run_have_the_time_of_the_limit() -> None:
    assert seconds_until_over(0.0) == SECONDS


def test_time_without_a_processor_is_not_counted() -> None:
    assert SECONDS * 2.5 < seconds_until_over(0.75) < SECONDS * MAX_STRETCH


def test_a_limit_ends_although_no_thread_ever_runs() -> None:
    """A thread that waits for a processor may not be the one that hangs."""
    assert seconds_until_over(1.0) == SECONDS * MAX_STRETCH


def test_time_in_which_this_process_did_not_run_is_not_counted() -> None:
    clock = Clock()
    limit = RunLimit(SECONDS, (), clock)
    clock.now = 3600.0
    assert not limit.over()
    for _ in range(int(SECONDS) - 2):
        clock.now += 1.0
        assert not limit.over()
    clock.now += 1.0
    assert limit.over()


async def test_a_call_within_its_limit() -> None:
    async def answer() -> str:
        return "answer"

    assert await within(RunLimit(10.0, ()), answer()) == "answer"


async def test_a_call_beyond_its_limit_is_cancelled() -> None:
    call = asyncio.ensure_future(asyncio.Event().wait())
    with pytest.raises(TimeoutError):
        await within(RunLimit(0.1, ()), call)
    await asyncio.wait({call})
    assert call.cancelled()


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this kernel does not count scheduling delays")
def test_a_tree_has_the_descendants_of_a_process() -> None:
    code = "import subprocess; subprocess.run(['sleep', '60'])"
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as child:
        try:
            wait_until(lambda: len([*ProcessTree(child.pid)]) == 2)
            assert {child.pid, *ProcessTree(child.pid)} <= {*ProcessTree(os.getpid())}
        finally:
            os.killpg(child.pid, 9)
