"""Wheels of a plugin environment: checked against the lock, and unpacked once for each content."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import zipfile
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath

from runtime.system.process_folder import work_folder

LOCK = "requirements.lock"

_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*==\s*([^\s;]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


class BrokenEnvironmentError(Exception):
    """A plugin environment is incomplete or damaged; the message names the file."""


def check(wheels: Sequence[Path], lock: Path) -> None:
    """Raises BrokenEnvironmentError unless the wheels fit this Python and are those of the lock, if there is one."""
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename
    from packaging.version import InvalidVersion, Version

    by_name = {}
    for wheel in wheels:
        try:
            name, version, _, tags = parse_wheel_filename(wheel.name)
        except (InvalidWheelFilename, InvalidVersion) as error:
            raise BrokenEnvironmentError(str(error)) from None
        if not tags & _supported():
            raise BrokenEnvironmentError(f"{wheel.name} is for another version of Python or another platform")
        if name in by_name:
            raise BrokenEnvironmentError(f"there are several wheels of {name}: keep one")
        by_name[name] = version, wheel
    if not lock.exists():
        return
    locked = _locked(lock)
    if missing := sorted(locked.keys() - by_name.keys()):
        raise BrokenEnvironmentError(f"{lock.name} lists {', '.join(missing)}, but there is no wheel of that name")
    for name, (version, wheel) in by_name.items():
        if name not in locked:
            raise BrokenEnvironmentError(f"{wheel.name} is not listed in {lock.name}")
        wanted, hashes = locked[name]
        if Version(wanted) != version:
            raise BrokenEnvironmentError(f"{lock.name} lists {name} {wanted}, but the wheel is {wheel.name}")
        if hashes and digest(wheel) not in hashes:
            raise BrokenEnvironmentError(f"the SHA-256 of {wheel.name} is not in {lock.name}")


@lru_cache(maxsize=1)
def _supported() -> frozenset[object]:
    from packaging.tags import sys_tags

    return frozenset(sys_tags())


def _locked(lock: Path) -> dict[str, tuple[str, set[str]]]:
    """Version and hashes by name. Options of pip are ignored."""
    from packaging.utils import canonicalize_name

    text = lock.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.partition(" #")[0].strip() for line in text.splitlines()]
    locked = {}
    for line in lines:
        match = _REQUIREMENT.match(line)
        if match is not None:
            locked[str(canonicalize_name(match[1]))] = match[2], set(_HASH.findall(line))
        elif line and not line.startswith(("#", "-")):
            raise BrokenEnvironmentError(f"{lock.name} has a line without an exact version: {line}")
    return locked


def digest(file: Path) -> str:
    """The SHA-256 of a file; computed again only if its size or time has changed."""
    stat = file.stat()
    return _digest(file, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=1024)
def _digest(file: Path, size: int, changed: int) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def unpack(wheels: Sequence[Path], target: Path) -> None:
    """Unpack wheels into a folder, as an installation without scripts and headers would. Does nothing if the folder
    exists: it appears at once, when it is complete. BrokenEnvironmentError if a wheel is damaged."""

    def write(folder: Path) -> None:
        for wheel in wheels:
            unzip(wheel, folder, _installed_path)

    publish(target, write)


def publish(target: Path, write: Callable[[Path], None]) -> None:
    """Create a folder by writing a temporary one, which then gets its name. Several processes may do so at once; what
    a killed one has left is removed."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with work_folder(target.parent) as work:
        fresh = work / target.name
        fresh.mkdir(0o755)
        write(fresh)
        try:
            os.rename(fresh, target)  # noqa: PTH104 - Path.rename() would raise the same; replace() must not be used
        except OSError:
            if not target.is_dir():  # otherwise another process was faster
                raise


def unzip(archive: Path, folder: Path, place: Callable[[PurePosixPath], PurePosixPath | None]) -> None:
    """Unpack files to the paths that `place` returns; None leaves a file out."""
    try:
        with zipfile.ZipFile(archive) as content:
            for info in content.infolist():
                path = PurePosixPath(info.filename)
                if path.is_absolute() or ".." in path.parts:
                    raise BrokenEnvironmentError(f"{archive.name} has a path outside of its folder: {info.filename}")
                placed = None if info.is_dir() else place(path)
                if placed is not None:
                    file = folder / placed
                    file.parent.mkdir(parents=True, exist_ok=True)
                    with content.open(info) as source, file.open("wb") as copy:
                        shutil.copyfileobj(source, copy)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise BrokenEnvironmentError(f"{archive.name} is damaged: {error}") from None


def _installed_path(path: PurePosixPath) -> PurePosixPath | None:
    """Where an installation puts a file of a wheel."""
    if not path.parts[0].endswith(".data"):
        return path
    return PurePosixPath(*path.parts[2:]) if path.parts[1] in ("purelib", "platlib") else None
