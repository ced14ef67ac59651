from __future__ import annotations

import faulthandler
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.engine.lease import Lease, LeaseLostError, open_stack, stack_file
from runtime.pipeline.port import RevokedError


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def lease(monkeypatch: pytest.MonkeyPatch) -> Lease:
    monkeypatch.setattr(faulthandler, "dump_traceback_later", lambda *args, **kwargs: None)
    return Lease(sys.stderr, Clock())


def test_it_is_over_before_it_is_granted(lease: Lease) -> None:
    with pytest.raises(LeaseLostError):
        lease.check()


def test_it_holds_until_the_deadline_counted_from_the_question(lease: Lease) -> None:
    clock = lease._clock
    assert isinstance(clock, Clock)
    lease.extend(asked_at=97.0, ttl=10.0)
    clock.now = 106.9
    lease.check()
    clock.now = 107.0
    with pytest.raises(RevokedError):
        lease.check()


def test_an_answer_that_comes_too_late_does_not_bring_it_back(lease: Lease) -> None:
    lease.extend(asked_at=80.0, ttl=10.0)
    assert lease.over


def test_it_can_be_cut_short(lease: Lease) -> None:
    lease.extend(asked_at=100.0, ttl=10.0)
    lease.extend(asked_at=100.0, ttl=0.0)
    assert lease.over


def test_the_process_ends_with_its_stack_even_when_the_interpreter_is_held(tmp_path: Path) -> None:
    program = f"""
import os, re, time
from runtime.engine.lease import Lease, open_stack
lease = Lease(open_stack({str(tmp_path)!r}, 4, 1))
lease.extend(time.monotonic(), 0.3)
def holds_the_interpreter():
    re.match(r"(a+)+$", "a" * 60 + "b")
holds_the_interpreter()
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=20, check=False).returncode == 1
    assert "holds_the_interpreter" in stack_file(str(tmp_path), 4, 1).read_text()


def test_without_the_workers_folder_the_stack_goes_to_the_executors_log(tmp_path: Path) -> None:
    assert open_stack(str(tmp_path / "elsewhere"), 0, 1) is sys.stderr
