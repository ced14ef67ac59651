"""Leases of slots: granting, renewal, expiry, and the guard that ends slots without a lease."""

from __future__ import annotations

import math
import mmap
import os
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from runtime.engine.driver.guard import Guard
from runtime.engine.protocol.lease import Lease, LeaseLostError, stack_file
from runtime.engine.protocol.lease_cell import GUARD_TIME, LeaseCell, cell_path, granted
from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker.lease_granter import LeaseGranter
from runtime.pipeline.task.failure import RevokedError
from runtime.system import lease_clock
from tests.support.clock import Clock
from tests.support.waiting import wait_until


@pytest.fixture
def clock() -> Clock:
    return Clock(100.0)


@pytest.fixture
def cell(tmp_path: Path) -> LeaseCell:
    return LeaseCell.create(str(tmp_path), 3, 4711)


def test_a_lease_that_was_never_granted_counts_as_expired(cell: LeaseCell, clock: Clock) -> None:
    lease = Lease(cell, clock)
    with pytest.raises(LeaseLostError):
        lease.check()
    LeaseGranter(lambda: 8.0, 0.5, 5.0, clock).add(cell)
    assert lease.over, "a task has ended without a report, so the slot must end too"


def test_jvms_read_by_how_much_the_clock_of_the_lease_is_ahead_of_theirs() -> None:
    memory = mmap.mmap(-1, 24)
    LeaseCell(memory, lambda: 300.0).grant(1000.5)
    assert struct.unpack("@qqq", memory[:]) == (1000_500_000_000, 1000_500_000_000, 300_000_000_000)


def test_the_clock_of_leases_counts_suspended_time() -> None:
    assert lease_clock.suspended() == pytest.approx(time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic(), abs=1.0)


def test_a_lease_holds_until_the_deadline_that_the_worker_wrote(tmp_path: Path, cell: LeaseCell, clock: Clock) -> None:
    LeaseCell.open(str(tmp_path), 3, 4711).grant(110.0)
    lease = Lease(cell, clock)
    clock.now = 109.9
    lease.check()
    clock.now = 110.0
    with pytest.raises(RevokedError):
        lease.check()


def test_a_revoked_lease_expires_at_once(cell: LeaseCell, clock: Clock) -> None:
    cell.grant(1000.0)
    cell.revoke()
    assert Lease(cell, clock).over


def test_a_partly_written_deadline_never_extends_the_lease() -> None:
    memory = mmap.mmap(-1, 24)
    cell = LeaseCell(memory)
    cell.grant(100.0)
    memory[:8] = (2**62).to_bytes(8, "little")
    assert cell.deadline == 100.0


def test_leases_follow_the_membership_and_expire_with_it(cell: LeaseCell, clock: Clock) -> None:
    confirmed = 8.0
    granter = LeaseGranter(lambda: confirmed, 0.5, 5.0, clock)
    granter.add(cell)
    assert cell.deadline == 105.0, "no longer than the time to live"
    confirmed = 2.0
    granter.renew()
    assert cell.deadline == 102.0, "no longer than the membership"
    confirmed = -1.0
    granter.renew()
    assert cell.deadline == 102.0


def test_a_revoked_lease_is_not_granted_again(cell: LeaseCell, clock: Clock) -> None:
    granter = LeaseGranter(lambda: 8.0, 0.5, 5.0, clock)
    granter.add(cell)
    granter.revoke(cell)
    granter.renew()
    assert Lease(cell, clock).over


def test_an_expired_lease_is_not_granted_again(cell: LeaseCell, clock: Clock) -> None:
    """Tasks that noticed the expiry have ended; a slot that keeps running would report their end."""
    granter = LeaseGranter(lambda: 8.0, 0.5, 5.0, clock)
    granter.add(cell)
    clock.now = 105.5
    assert cell.lapsed(clock.now)
    granter.renew()
    assert Lease(cell, clock).over


def test_a_lost_membership_ends_the_leases_that_were_granted_for_it(
    cell: LeaseCell, clock: Clock, tmp_path: Path
) -> None:
    confirmed = 8.0
    granter = LeaseGranter(lambda: confirmed, 0.5, 5.0, clock)
    granter.add(cell)
    confirmed = 0.0
    waiting = LeaseCell.create(str(tmp_path), 9, 4711)
    granter.add(waiting)
    granter.revoke_granted()
    assert Lease(cell, clock).over
    confirmed = 8.0
    granter.renew()
    assert Lease(cell, clock).over, "the tasks of the slot belong to the lost membership"
    assert not Lease(waiting, clock).over, "the slot had no lease, so it has run nothing"


def test_a_lease_renewed_at_the_moment_of_its_expiry_stays_expired(cell: LeaseCell, clock: Clock) -> None:
    cell.grant(105.0)
    lease = Lease(cell, clock)
    clock.now = 105.0
    assert lease.over
    cell.grant(110.0)
    assert lease.over
    assert cell.lapsed(clock.now), "the driver ends the slot"


def test_leases_are_renewed_more_often_before_the_membership_expires(clock: Clock) -> None:
    confirmed = 8.0
    granter = LeaseGranter(lambda: confirmed, 0.6, 6.0, clock)
    assert granter.pause == pytest.approx(0.6)
    confirmed = 0.3
    assert granter.pause == pytest.approx(0.15)
    confirmed = -1.0
    assert granter.pause == pytest.approx(0.6)


def test_a_slot_of_this_machine_has_its_lease_until_shortly_before_the_membership_ends(
    cell: LeaseCell, clock: Clock
) -> None:
    """A renewal may be late on a busy machine; the driver must have ended the slot when another worker takes over."""
    settings = EngineSettings(lease_ttl=6.0, membership=10.0)
    granter = LeaseGranter(lambda: 9.5, 0.6, settings.longest_lease, clock, GUARD_TIME)
    granter.add(cell)
    assert cell.deadline == pytest.approx(109.5 - GUARD_TIME)
    elsewhere = EngineSettings(lease_ttl=6.0, membership=10.0, spark_conf={"spark.master": "spark://elsewhere:7077"})
    assert elsewhere.longest_lease == 6.0, "its tasks have to wait for the end of the lease"


def test_a_lease_does_not_outlast_the_membership_if_the_worker_stands_still_while_it_is_granted(
    cell: LeaseCell, clock: Clock
) -> None:
    ends = clock.now + 10.0

    def confirmed() -> float:
        remaining = ends - clock.now
        clock.now += 8.0  # before the deadline is written
        return remaining

    LeaseGranter(confirmed, 0.5, 10.0, clock).add(cell)
    assert cell.deadline <= ends


def test_a_lease_that_expires_while_it_is_renewed_is_not_granted_again(cell: LeaseCell, clock: Clock) -> None:
    granter = LeaseGranter(lambda: 10.0, 0.5, 5.0, clock)
    granter.add(cell)
    clock.now += 4.0

    def confirmed() -> float:
        clock.now += 2.0  # the worker stands still
        return 10.0

    granter._lease = confirmed
    granter.renew()
    assert Lease(cell, clock).over


def test_a_lease_without_a_group_does_not_expire(cell: LeaseCell, clock: Clock) -> None:
    granter = LeaseGranter(lambda: math.inf, 0.6, EngineSettings(membership=math.inf).longest_lease, clock)
    granter.add(cell)
    clock.now += 1e9
    assert not Lease(cell, clock).over
    granter.revoke(cell)
    assert Lease(cell, clock).over


def test_only_granted_leases_are_listed(tmp_path: Path, cell: LeaseCell) -> None:
    assert list(granted(str(tmp_path))) == []
    cell.grant(7.5)
    assert list(granted(str(tmp_path))) == [(cell_path(str(tmp_path), 3, 4711), 4711, 7.5)]


SLOT = """
import os, re, sys
from runtime.engine.protocol.lease import dump_stacks_on_request
from runtime.engine.protocol.lease_cell import LeaseCell
folder = sys.argv[1]
file = dump_stacks_on_request(folder, 4, os.getpid())
LeaseCell.create(folder, 4, os.getpid())
def holds_the_interpreter():
    open(os.path.join(folder, "held"), "w").close()
    re.match(r"(a+)+$", "a" * 60 + "b")
holds_the_interpreter()
"""


def test_a_slot_whose_interpreter_is_held_is_killed_and_its_stack_is_logged(tmp_path: Path) -> None:
    slot = subprocess.Popen([sys.executable, "-c", SLOT, str(tmp_path)])
    try:
        wait_until((tmp_path / "held").exists, 20)
        guard = Guard(str(tmp_path))
        lease = LeaseCell.open(str(tmp_path), 4, slot.pid)
        lease.grant(time.monotonic() + 60)
        guard.check()
        assert slot.poll() is None
        lease.revoke()
        guard.check()
        assert slot.wait(30) < 0
        assert "holds_the_interpreter" in stack_file(str(tmp_path), 4, slot.pid).read_text()
    finally:
        slot.kill()


def test_the_guard_kills_only_descendants(tmp_path: Path) -> None:
    """The parent of this process stands for a forged or reused pid."""
    for pid in (os.getppid(), os.getpid(), 1):
        LeaseCell.create(str(tmp_path), 0, pid).revoke()
    Guard(str(tmp_path)).check()
    assert list(granted(str(tmp_path))) == []


AT_A_LIMIT = """
import resource, sys, threading, time
from runtime.engine.driver.guard import Guard

class Counted(Guard):
    checks = 0
    def check(self):
        self.checks += 1
        super().check()

guard = Counted(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
guard.start()
while guard.checks < 3:
    assert "guard" in {thread.name for thread in threading.enumerate()}
    time.sleep(0.01)
"""


def test_the_guard_continues_at_the_limit_of_file_descriptors(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", AT_A_LIMIT, str(tmp_path)], check=True, timeout=60)


def test_the_files_of_ended_slots_are_removed(tmp_path: Path) -> None:
    """Stacks are kept, since the worker reads them."""
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    for slot, stack in ((1, ""), (2, "File ...")):
        LeaseCell.create(str(tmp_path), slot, gone.pid).grant(time.monotonic() + 60)
        stack_file(str(tmp_path), slot, gone.pid).write_text(stack)
    Guard(str(tmp_path)).check()
    assert list(tmp_path.iterdir()) == [stack_file(str(tmp_path), 2, gone.pid)]


def test_a_deadline_is_never_read_while_partly_written(tmp_path: Path) -> None:
    """Values whose lower bytes wrap around between two grants, read as often as possible meanwhile."""
    cell, reader = LeaseCell.create(str(tmp_path), 1, 2), LeaseCell.open(str(tmp_path), 1, 2)
    cell.grant(1000.0)
    done = threading.Event()

    def write() -> None:
        for number in range(100_000):
            cell.grant(1000.0 + number * 0.3)
        done.set()

    threading.Thread(target=write).start()
    latest = 0.0
    while not done.is_set():
        before, latest = latest, reader.deadline
        assert latest >= before
