"""The class-data-sharing archive: recorded once in the background, without delaying starts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker.supervisor import SparkEngine
from tests.support.engine.engine_recorder import Recorder, descendants
from tests.support.waiting import until

pytestmark = pytest.mark.slow

SETTINGS = EngineSettings(slots=2, runner="tests.support.engine.scripted_task_runner:ScriptedRunner")


async def seconds_to_slots(before_closing: Callable[[], object] = lambda: True) -> float:
    """Starts an engine and closes it once the condition holds; returns the seconds until its slots were up."""
    engine = SparkEngine(SETTINGS, Recorder())
    started = time.perf_counter()
    await engine.start()
    try:
        await until(lambda: len(engine.slots) == SETTINGS.slots, 60.0)
        took = time.perf_counter() - started
        await until(before_closing, 90.0)
        return took
    finally:
        await engine.close(1.0)


@pytest.mark.soak
async def test_the_archive_is_recorded_once_and_replaced_if_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "headrace" / "cds"

    without = await seconds_to_slots(lambda: list(folder.glob("*.jsa")))
    (archive,) = folder.iterdir()
    recorded = archive.stat()
    with_archive = await seconds_to_slots()
    print(f"two slots up: {without:.1f} s without an archive, {with_archive:.1f} s with; {recorded.st_size >> 20} MB")
    assert archive.stat().st_mtime_ns == recorded.st_mtime_ns, "the archive is not recorded again"

    _damage(archive)
    damaged = archive.stat().st_mtime_ns
    await seconds_to_slots(lambda: archive.stat().st_mtime_ns != damaged)


def _damage(archive: Path) -> None:
    """Truncates the archive, so that the JVM crashes."""
    half = archive.read_bytes()[: archive.stat().st_size // 2]
    archive.unlink()
    archive.write_bytes(half)


async def test_closing_the_engine_ends_the_recording_of_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    await seconds_to_slots()
    assert not list((tmp_path / "headrace").rglob("*"))
    assert not descendants(os.getpid())
