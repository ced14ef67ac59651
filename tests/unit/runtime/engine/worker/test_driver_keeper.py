"""The driver's restarts."""

from __future__ import annotations

import asyncio
import functools
import re
import time
from pathlib import Path

import pytest

from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker import driver_process
from runtime.engine.worker.driver_keeper import DriverKeeper, reason_of
from runtime.system.scheduling import MAX_STRETCH, Delay
from tests.support.control_groups import Files
from tests.support.engine.starvation import Starved
from tests.support.waiting import until

TIMEOUT = 0.4


def ignore(*_: object) -> None:
    return


def driver_folders(folder: Path) -> list[Path]:
    return list(folder.glob("driver-*"))


@pytest.fixture(autouse=True)
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A JVM that does not start."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\nexec sleep 1000\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))


async def seconds_until_end(folder: Path, drivers: int, delay: type[Delay] = Delay) -> float:
    """Seconds until so many drivers have ended."""
    started, ends = time.monotonic(), 0

    def ended() -> None:
        nonlocal ends
        ends += 1
        if ends == drivers:
            keeper.close()

    settings = EngineSettings(slots=1, archive=False, driver_start_timeout=TIMEOUT)
    keeper = DriverKeeper(settings, str(folder), ended, ignore, ignore, delay=delay)
    await keeper.run()
    return time.monotonic() - started


async def test_each_driver_has_more_time_than_the_one_before(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert await seconds_until_end(tmp_path, 3) > TIMEOUT * (1 + 2 + 4)
    given = [float(found[1]) for line in caplog.messages if (found := re.search(r"start within (\S+) s", line))]
    assert given == [TIMEOUT, TIMEOUT * 2, TIMEOUT * 4]


async def test_a_driver_that_waits_for_a_processor_has_more_time(tmp_path: Path) -> None:
    assert await seconds_until_end(tmp_path, 1, Starved) > TIMEOUT * MAX_STRETCH


async def test_slots_that_are_requested_while_a_driver_starts_reach_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of tasks that were lost with the driver before it."""
    received = tmp_path / "received"
    monkeypatch.setattr(driver_process, "module_command", lambda module: ["sh", "-c", f"exec cat > '{received}'"])
    keeper = DriverKeeper(EngineSettings(slots=1), str(tmp_path), ignore, ignore, ignore)
    running = asyncio.create_task(keeper.run())
    await asyncio.sleep(0)
    assert keeper._child is not None and keeper.pid is None, "it is being started"
    keeper.request_slots([0, 5], {})
    await until(lambda: received.exists() and '"slots": [0, 5]' in received.read_text())
    keeper.close()
    await running


async def test_the_end_of_a_driver_is_reported_before_its_files_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Removing many files takes long, and the deaths of its slots must not seem to be others."""
    monkeypatch.setattr(driver_process, "module_command", lambda module: ["true"])
    had_files = []

    def ended() -> None:
        had_files.append(Path(keeper.folder).exists())
        keeper.close()

    keeper = DriverKeeper(EngineSettings(slots=1), str(tmp_path), ended, ignore, ignore)
    await keeper.run()
    assert had_files == [True]
    assert not driver_folders(tmp_path)


async def test_a_driver_that_cannot_be_started_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(driver_process, "module_command", lambda module: [str(tmp_path / "missing")])
    keeper = DriverKeeper(EngineSettings(slots=1), str(tmp_path), ignore, ignore, ignore)
    running = asyncio.create_task(keeper.run())
    await until(lambda: "could not be started" in caplog.text)
    keeper.close()
    await running
    assert not driver_folders(tmp_path)


async def test_an_archive_that_cannot_be_recorded_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As on a full disk, or at a limit of processes."""
    keeper = DriverKeeper(EngineSettings(slots=1), str(tmp_path / "missing"), ignore, ignore, ignore)
    keeper._report({"op": "ready", "version": "4", "seconds": 1.0, "archive": False})
    keeper.record_archive()
    await until(lambda: "cannot be recorded: [Errno 2] No such file" in caplog.text)
    keeper.close()
    await keeper.run()


@pytest.mark.parametrize(("limit", "recorded"), [(599, False), (600, True)])
async def test_no_archive_is_recorded_when_memory_is_short(tmp_path: Path, limit: int, recorded: bool) -> None:
    group = Files(tmp_path).version_2(memory__max=str(limit << 20), memory__current=str(300 << 20))
    keeper = DriverKeeper(EngineSettings(slots=1), str(tmp_path / "missing"), ignore, ignore, ignore, group=group)
    keeper._report({"op": "ready", "version": "4", "seconds": 1.0, "archive": False})
    keeper.record_archive()
    assert (keeper._recorder is not None) == recorded
    keeper.close()
    await keeper.run()


def test_the_reason_of_an_end_is_the_error_before_the_warnings_of_the_jvm() -> None:
    """The output of a driver in a container with a limit of processes."""
    error = ": java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory"
    lines = [
        "py4j.protocol.Py4JJavaError: An error occurred", error, "\tat java.lang.Thread.start0(Native Method)",
        '[5.083s][warning][os,thread] Failed to start thread "Unknown thread" - pthread_create failed (EAGAIN)',
        "OpenJDK 64-Bit Server VM warning: Exception java.lang.OutOfMemoryError occurred dispatching signal SIGTERM",
    ]  # fmt: skip
    assert functools.reduce(reason_of, lines, "") == error
    assert reason_of("", lines[-1]) == lines[-1], "better than nothing"
