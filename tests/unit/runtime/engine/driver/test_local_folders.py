"""The folders of spark.local.dir: what a JVM has left there is removed."""

from __future__ import annotations

from pathlib import Path

from runtime.engine.driver.local_folders import LocalFolders
from runtime.system.process_folder import make_folder_in


def test_folders_of_the_jvm_and_of_killed_workers_are_removed_and_no_others(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    worker = Path(make_folder_in(tmp_path)).name
    slots = LocalFolders({"spark.local.dir": f"{first}, {second}", "x": "y"}, f"/tmp/{worker}", "_slots")
    assert slots.conf == {"spark.local.dir": f"{first / worker}_slots,{second / worker}_slots", "x": "y"}
    left = [first / f"{worker}_slots" / "blockmgr-1", first / _of_ended(worker) / "blockmgr-2"]
    kept = [first / worker / "blockmgr-3", second / "blockmgr-4", second / "headrace-other"]
    for folder in (*left, *kept):
        folder.mkdir(parents=True)
    slots.remove()
    assert not any(folder.parent.exists() for folder in left)
    assert all(folder.exists() for folder in kept)


def test_without_the_property_spark_uses_the_folder_of_the_jvm() -> None:
    folders = LocalFolders({"spark.app.name": "x"}, "/tmp/worker")
    assert folders.conf == {"spark.app.name": "x"}
    folders.remove()


def _of_ended(name: str) -> str:
    """The name of the folder of an earlier process with the same id."""
    head, pid, started, rest = name.rsplit("-", 3)
    return f"{head}-{pid}-{int(started) - 1}-{rest}"
