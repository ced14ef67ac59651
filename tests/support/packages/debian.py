"""Programs from Debian packages that the tests install if they are missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from runtime.system.locks import LockHeldError, exclusive

T = TypeVar("T")

_LOCK = Path(tempfile.gettempdir(), "headrace-tests-apt.lock")
_LIMIT = 240  # seconds of one call of apt-get


class PackageMissing(Exception):
    """A program is not installed and cannot be installed here; the text is the reason."""


def installed(find: Callable[[], T | None], *packages: str, lock: Path = _LOCK) -> T:
    """What `find` returns, after these packages were installed with apt-get if it returns None; PackageMissing with the
    reason. Processes install one after another, and do not use programs of packages that another process installs: the
    programs are there before their users and their libraries."""
    with _alone(lock):
        found = find()
        if found is None:
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
def _alone(lock: Path) -> Iterator[None]:
    try:
        with exclusive(lock, sys.stderr, 2 * _LIMIT):
            yield
    except LockHeldError as error:
        raise PackageMissing(str(error)) from None


def _install(packages: tuple[str, ...]) -> None:
    names = " ".join(packages)
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise PackageMissing(f"A program is missing: run apt-get install {names} as root")
    try:
        _apt_get("update", "-qq")
        _apt_get("install", "-y", "-qq", "--no-install-recommends", *packages)
    except subprocess.CalledProcessError as error:
        reason = error.output.strip().splitlines()[-1:]
        raise PackageMissing(f"apt-get cannot install {names}: {' '.join(reason)}") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PackageMissing(f"apt-get cannot install {names}: {error}") from None


def _apt_get(*arguments: str) -> None:
    """Output goes to a file: a server that a package has started may keep a pipe open for ever. apt-get waits for other
    processes that hold dpkg's locks, and for silent servers, for a limited time."""
    limits = [f"-o=DPkg::Lock::Timeout={_LIMIT // 2}", "-o=Acquire::http::Timeout=30", "-o=Acquire::Retries=3"]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with tempfile.TemporaryFile("w+") as output:
        command = ["apt-get", *limits, *arguments]
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            timeout=_LIMIT,
            check=False,
        )
        output.seek(0)
        if done.returncode:
            raise subprocess.CalledProcessError(done.returncode, command, output.read())
