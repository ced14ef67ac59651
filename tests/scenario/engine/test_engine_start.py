"""Failed starts of the engine: reported clearly, repeated, and closed in any state."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker.supervisor import SparkEngine
from tests.support.engine.engine_recorder import Recorder, descendants, task_spec
from tests.support.engine.engine_rig import ROOT, TTL
from tests.support.processes import alive
from tests.support.waiting import until


async def test_missing_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    heard = Recorder()
    engine = SparkEngine(EngineSettings(slots=1, archive=False), heard)
    await engine.start()
    await until(lambda: any("Java 17 or newer" in line[2] for line in heard.lines))
    await until(lambda: "Java 17 or newer" in engine.trouble)
    await engine.close(1.0)
    assert not descendants(os.getpid())


async def test_a_start_that_takes_too_long_is_abandoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\nexec sleep 1000\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    engine = SparkEngine(EngineSettings(slots=1, archive=False, driver_start_timeout=2.0), Recorder())
    await engine.start()
    await until(lambda: engine.trouble == "Spark has not started: no start within 2 s")
    await until(lambda: engine._slots.driver and engine._slots.driver.generation == 2)
    await engine.close(1.0)
    assert not descendants(os.getpid())


async def test_a_task_waiting_for_a_slot_can_be_stopped() -> None:
    engine = SparkEngine(EngineSettings(slots=1, archive=False), Recorder())
    await engine.start()
    spec = task_spec("waiting")
    engine.start_task(spec)
    engine.pause_task(spec.id, True)
    assert await engine.stop_task(spec.id, 1.0)
    await engine.close(1.0)
    assert not descendants(os.getpid())


@pytest.mark.slow
async def test_a_runner_that_cannot_be_imported_is_logged() -> None:
    heard = Recorder()
    engine = SparkEngine(EngineSettings(slots=1, archive=False, runner="no_such_module:Runner"), heard)
    await engine.start()
    await until(lambda: any("No module named 'no_such_module'" in line[2] for line in heard.lines), 60.0)
    await engine.close(1.0)
    assert not descendants(os.getpid())


@pytest.mark.slow
async def test_a_slot_that_is_frozen_before_it_connects_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen = tmp_path / "pid"
    monkeypatch.setenv("HEADRACE_TEST_FROZEN", str(frozen))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    heard = Recorder()
    settings = EngineSettings(
        slots=2, lease_ttl=TTL, slot_start_timeout=4.0, archive=False,
        runner="tests.support.engine.frozen_task_runner:Runner",
    )  # fmt: skip
    engine = SparkEngine(settings, heard)
    await engine.start()
    try:
        await until(lambda: len(engine.slots) == 1 and frozen.exists() and frozen.read_text(), 60.0)
        pid = int(frozen.read_text())
        await until(lambda: len(engine.slots) == 2, 40.0)
        assert pid not in [slot.pid for slot in engine.slots]
        await until(lambda: not alive(pid), 20.0)
        assert "WARN" in [line[0] for line in heard.lines if "has not connected to the worker in time" in line[2]]
        assert not [line for line in heard.lines if line[0] == "ERROR"]
    finally:
        await engine.close(1.0)
    assert not descendants(os.getpid())


_TROUBLE = """
import asyncio
from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker.supervisor import SparkEngine
from tests.support.engine.engine_recorder import Recorder
from tests.support.waiting import until

async def main():
    engine = SparkEngine(EngineSettings(slots=1, archive=False), Recorder())
    await engine.start()
    await until(lambda: engine.trouble or engine.slots, 60.0)
    print(engine.trouble)
    await engine.close(1.0)

asyncio.run(main())
"""


@pytest.mark.soak
def test_too_few_open_files_are_named_as_the_reason() -> None:
    limited = ["prlimit", "--nofile=200:200", sys.executable, "-c", _TROUBLE]
    done = subprocess.run(limited, capture_output=True, text=True, cwd=ROOT, timeout=120, check=True)
    assert "Too many open files" in done.stdout
