"""The class-data-sharing archive: recorded once in the background, and never in the way."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from runtime.engine.settings import EngineSettings
from runtime.engine.supervisor import SparkEngine
from tests.support.engine_probe import Recorder, until

pytestmark = pytest.mark.slow

SETTINGS = EngineSettings(slots=2, runner="tests.support.engine_runner:ScriptedRunner")


async def seconds_to_slots(until_recorded: Path | None = None) -> float:
    """Start an engine, and close it when its slots are up (and the archive is there)."""
    engine = SparkEngine(SETTINGS, Recorder())
    started = time.perf_counter()
    await engine.start()
    try:
        await until(lambda: len(engine.slots) == SETTINGS.slots, 60.0)
        took = time.perf_counter() - started
        if until_recorded is not None:
            await until(lambda: list(until_recorded.glob("*.jsa")), 90.0)
        return took
    finally:
        await engine.close(1.0)


async def test_it_is_recorded_once_and_a_broken_one_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "headrace" / "cds"

    without = await seconds_to_slots(until_recorded=folder)
    (archive,) = folder.iterdir()
    recorded = archive.stat()
    with_archive = await seconds_to_slots()
    print(f"two slots up: {without:.1f} s without an archive, {with_archive:.1f} s with; {recorded.st_size >> 20} MB")
    assert archive.stat() == recorded or archive.stat().st_mtime == recorded.st_mtime

    archive.unlink()
    archive.write_bytes(b"not an archive" * 1000)
    assert await seconds_to_slots() < 60.0


async def test_closing_ends_a_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    started = time.perf_counter()
    await seconds_to_slots()
    closed = time.perf_counter()
    await asyncio.sleep(0)
    assert not list(tmp_path.rglob("*.jsa"))
    assert closed - started < 60.0
