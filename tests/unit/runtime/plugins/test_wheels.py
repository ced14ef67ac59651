"""Wheels of plugin environments: the lock, the platform, and paths outside of the folder."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from runtime.plugins.wheels import LOCK, BrokenEnvironmentError, check, digest, publish, unpack
from tests.support.packages.wheels import build_wheel

FILES = {"hr_w.py": "", "hr_w-1.0.data/purelib/hr_pure.py": "", "hr_w-1.0.data/scripts/run": ""}


def test_a_wheel_is_unpacked_as_an_installation_would(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path, "hr_w", "1.0", FILES)
    unpack([wheel], tmp_path / "to")
    found = {path.relative_to(tmp_path / "to").as_posix() for path in (tmp_path / "to").rglob("*") if path.is_file()}
    assert {"hr_w.py", "hr_pure.py", "hr_w-1.0.dist-info/RECORD"} <= found
    assert not any("scripts" in path or ".data" in path for path in found)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("headrace-")] == []


def test_a_path_outside_of_the_folder_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "hr_w-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("../outside.py", "")
    with pytest.raises(BrokenEnvironmentError, match=r"outside of its folder: \.\./outside\.py"):
        unpack([wheel], tmp_path / "to")
    assert not (tmp_path / "outside.py").exists() and not (tmp_path / "to").exists()


def test_a_damaged_wheel_is_refused(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path, "hr_w", "1.0", FILES)
    wheel.write_bytes(wheel.read_bytes()[:200])
    with pytest.raises(BrokenEnvironmentError, match="is damaged"):
        unpack([wheel], tmp_path / "to")


@pytest.mark.parametrize(
    ("lock", "message"),
    [
        ("hr-w==1.0", None),
        ("# pinned\n--index-url ignored\nHR_W == 1.0.0 \\\n    --hash=sha256:{digest}  # comment\n", None),
        ("hr-w==1.1", r"lists hr-w 1\.1, but the wheel is hr_w-1\.0"),
        (f"hr-w==1.0 --hash=sha256:{'0' * 64}", "the SHA-256 of hr_w-1.0-py3-none-any.whl is not in"),
        ("hr-other==1.0", "lists hr-other, but there is no wheel"),
        ("", r"hr_w-1\.0-py3-none-any\.whl is not listed"),
        ("hr-w>=1.0", "a line without an exact version"),
    ],
)
def test_wheels_are_those_of_the_lock(lock: str, message: str | None, tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path, "hr_w", "1.0", FILES)
    (tmp_path / LOCK).write_text(lock.format(digest=digest(wheel)))
    if message is None:
        check([wheel], tmp_path / LOCK)
    else:
        with pytest.raises(BrokenEnvironmentError, match=message):
            check([wheel], tmp_path / LOCK)


@pytest.mark.parametrize(
    ("wheels", "message"),
    [
        ([("1.0", "cp27-none-win32")], "another version of Python or another platform"),
        ([("1.0", "py3-none-any"), ("2.0", "py3-none-any")], "several wheels of hr-w"),
    ],
)
def test_wheels_that_cannot_be_used(wheels: list[tuple[str, str]], message: str, tmp_path: Path) -> None:
    found = [build_wheel(tmp_path, "hr_w", version, FILES, tag=tag) for version, tag in wheels]
    with pytest.raises(BrokenEnvironmentError, match=message):
        check(found, tmp_path / LOCK)


def test_what_a_killed_process_has_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    target = tmp_path / "cache" / "folder"
    killed = "import os; os.kill(os.getpid(), 9)"
    code = f"from pathlib import Path; from runtime.plugins.wheels import publish; publish(Path({str(target)!r}), "
    subprocess.run([sys.executable, "-c", f"{code}lambda folder: exec({killed!r}))"], check=False, timeout=60)
    assert [path.is_dir() for path in target.parent.iterdir()] == [True] and not target.exists()
    publish(target, lambda folder: (folder / "file").touch())
    assert list(target.parent.iterdir()) == [target] and (target / "file").exists()
