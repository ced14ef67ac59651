"""The worker's private folder."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.engine.worker.worker_folder import make_folder, socket_path


@pytest.fixture(autouse=True)
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder whose path is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="hr-", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def test_other_users_cannot_enter_the_folder() -> None:
    assert stat.S_IMODE(Path(make_folder()).stat().st_mode) == 0o700


def test_folders_of_a_killed_worker_are_removed_by_the_next_worker(temporary: Path) -> None:
    program = "import sys; from runtime.engine.worker.worker_folder import make_folder; print(make_folder())"
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(Path(__file__).parents[5])}
    killed = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    left = Path(killed.stdout.strip())
    assert left.parent == temporary
    assert left.exists()
    ours = Path(make_folder())
    assert not left.exists()
    make_folder()
    assert ours.exists(), "this process is running"


def test_other_folders_are_not_removed(temporary: Path) -> None:
    others = [temporary / name for name in ("headrace-test-run-x", "headrace-storm-1", "headrace-00000000-1-2-abc")]
    for other in others:
        other.mkdir()
    make_folder()
    assert all(other.exists() for other in others)


def test_a_socket_path_that_is_too_long_for_the_kernel_is_avoided(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = temporary / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    folder = make_folder()
    try:
        assert len(socket_path(folder)) < 108
        assert list(deep.iterdir()) == []
    finally:
        Path(folder).rmdir()
