"""The class archive of the broker: written by the first broker that ends normally, then used."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from runtime.system.cache import cache_folder
from tests.support.broker import EmbeddedBroker


@pytest.mark.soak
def test_a_broker_that_ends_normally_writes_the_archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jars = cache_folder() / "jars"
    jars.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cache_folder().mkdir(parents=True)
    (cache_folder() / "jars").symlink_to(jars)
    broker = EmbeddedBroker(tmp_path / "broker")
    try:
        broker.start()
        broker.kill()
        assert _archives() == []
        broker.start()
        broker.stop()
        (written,) = _archives()
        stamp = written.stat().st_mtime_ns
        broker.start()
        command = subprocess.run(["ps", "-ww", "-o", "args=", "-p", str(broker.pid)], capture_output=True, text=True)
        assert f"-XX:SharedArchiveFile={written} " in command.stdout
    finally:
        broker.stop()
    assert [file.stat().st_mtime_ns for file in _archives()] == [stamp]


def _archives() -> list[Path]:
    return list((cache_folder() / "cds").iterdir())
