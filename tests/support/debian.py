"""Programs from Debian packages that the tests install if they are missing."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

_LOCK = Path(tempfile.gettempdir(), "headrace-tests-apt.lock")


class PackageMissing(Exception):
    """A program is not installed and cannot be installed here; the text is the reason."""


def installed(find: Callable[[], T | None], *packages: str) -> T:
    """What `find` returns, after these packages were installed with apt-get if it returns None; PackageMissing with the
    reason. Processes install one after another."""
    found = find()
    if found is None:
        with _alone():
            if find() is None:
                _install(packages)
        found = find()
    if found is None:
        raise PackageMissing(f"Debian's packages {' and '.join(packages)} do not have the programs that are needed")
    return found


def skip_unless_ci(missing: PackageMissing) -> None:
    """Skips the test; in CI it fails."""
    if os.environ.get("CI") == "true":
        raise missing
    pytest.skip(str(missing))


@contextmanager
def _alone() -> Iterator[None]:
    with _LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(packages: tuple[str, ...]) -> None:
    names = " ".join(packages)
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise PackageMissing(f"A program is missing: run apt-get install {names} as root")
    quiet: dict[str, Any] = {"check": True, "capture_output": True, "text": True, "timeout": 240}
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        subprocess.run(["apt-get", "update", "-qq"], env=environment, **quiet)
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
        subprocess.run(install, env=environment, **quiet)
    except subprocess.CalledProcessError as error:
        reason = (error.stderr or error.stdout).strip().splitlines()[-1:]
        raise PackageMissing(f"apt-get cannot install {names}: {' '.join(reason)}") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PackageMissing(f"apt-get cannot install {names}: {error}") from None
