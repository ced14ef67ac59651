"""Private folders of processes."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.system import process_folder
from runtime.system.process_folder import make_folder, work_folder


@pytest.fixture(autouse=True)
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder whose path is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="hr-", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def test_other_users_cannot_enter_the_folder() -> None:
    assert stat.S_IMODE(Path(make_folder("slots.sock")).stat().st_mode) == 0o700


def test_folders_of_a_process_that_has_ended_are_removed_by_the_next_one(temporary: Path) -> None:
    program = "from runtime.system.process_folder import make_folder; print(make_folder('link'))"
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(Path(__file__).parents[4])}
    killed = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    left = Path(killed.stdout.strip())
    assert left.parent == temporary
    assert left.exists()
    ours = Path(make_folder("slots.sock"))
    assert not left.exists()
    make_folder("slots.sock")
    assert ours.exists(), "this process is running"


def test_other_folders_are_not_removed(temporary: Path) -> None:
    others = [temporary / name for name in ("headrace-test-run-x", "headrace-storm-1", "headrace-00000000-1-2-abc")]
    for other in others:
        other.mkdir()
    make_folder("slots.sock")
    assert all(other.exists() for other in others)


def test_work_folders_of_a_process_that_was_killed_are_removed_by_the_next_one(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from runtime.system.process_folder import work_folder\n"
        "with work_folder(Path(sys.argv[1])) as work: (work / 'draft').touch(); os._exit(9)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], env=environment, check=False)
    (left,) = tmp_path.iterdir()
    elsewhere, before = (tmp_path / f"headrace-0000000{number}-1-2-abc" for number in range(2))
    other = tmp_path / "headrace-jars-1-2-abc"
    for folder in (elsewhere, before, other):
        folder.mkdir()
    for folder in (before, other):
        os.utime(folder, (1, 1))
    with work_folder(tmp_path) as first, work_folder(tmp_path) as second:
        assert set(tmp_path.iterdir()) == {first, second, elsewhere, other}
        assert left not in (first, second)
    assert set(tmp_path.iterdir()) == {elsewhere, other}


def test_a_socket_path_that_is_too_long_for_the_kernel_is_avoided(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = temporary / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    folder = make_folder("slots.sock")
    try:
        assert len(f"{folder}/slots.sock") < 108
        assert list(deep.iterdir()) == []
    finally:
        Path(folder).rmdir()


def test_without_a_short_folder_the_remedy_is_reported(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = temporary / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    monkeypatch.setattr(process_folder, "_SHORT", str(temporary / "missing"))
    with pytest.raises(FileNotFoundError, match="the path of TMPDIR is too long for sockets: set TMPDIR"):
        make_folder("slots.sock")
    assert list(deep.iterdir()) == []
