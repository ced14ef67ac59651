"""The environments in `plugin.path`: folders with a plugin and its own dependencies.

A subfolder of a folder of `plugin.path` is an environment if it contains wheels, or a folder `site-packages`.
"""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from runtime.model.environment import Environment
from runtime.plugins import wheels
from runtime.plugins.wheels import BrokenEnvironmentError
from runtime.system.cache import cache_folder

SITE_PACKAGES = "site-packages"

_SKIPPED = ("__pycache__",)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the time of all files in archives, so that equal content gives equal archives


def plugins_cache() -> Path:
    """The folder of unpacked wheels and of archives, in the user's cache."""
    return cache_folder() / "plugins"


def is_environment(folder: Path) -> bool:
    """Whether a folder is an environment, not a package."""
    if not folder.is_dir() or (folder / "__init__.py").exists():
        return False
    return (folder / SITE_PACKAGES).is_dir() or next(folder.glob("*.whl"), None) is not None


def prepare(folder: Path, cache: Path | None = None) -> Environment:
    """The environment in a folder, with its wheels unpacked. BrokenEnvironmentError if it is incomplete."""
    cache = cache or plugins_cache()
    wheel_files = sorted(folder.glob("*.whl"))
    try:
        wheels.check(wheel_files, folder / wheels.LOCK)
        name = re.sub(r"[^\w.+-]", "_", folder.name)
        folders = []
        if wheel_files:
            unpacked = cache / f"{name}-{_digest_of_wheels(wheel_files)}"
            wheels.unpack(wheel_files, unpacked)
            folders.append(str(unpacked))
        site = folder / SITE_PACKAGES
        if site.is_dir():
            folders.append(str(site))
        parts = [*(wheels.digest(wheel) for wheel in wheel_files), *_stated(site)]
    except OSError as error:
        raise BrokenEnvironmentError(str(error)) from None
    return Environment(f"{name}-{_digest(parts)}", tuple(folders))


def archive(environment: Environment, cache: Path | None = None) -> Path:
    """A zip file with the content of an environment, from which another machine can start its plugins. Equal contents
    give equal files."""
    folder = cache or plugins_cache()
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, Path] = {}
    for root in map(Path, environment.folders):
        for file in _files(root):
            files.setdefault(file.relative_to(root).as_posix(), file)
    target = folder / f"{environment.id}.zip"
    fresh = target.with_suffix(f".{os.getpid()}")
    with zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED) as content:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr, info.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            content.writestr(info, files[name].read_bytes())
    fresh.replace(target)
    return target


def unpacked_archive(environment: Environment) -> Path:
    """The folder with the content of the environment's archive."""
    target = plugins_cache() / f"{environment.id}-archive"
    wheels.publish(target, lambda folder: wheels.unzip(Path(environment.archive), folder, lambda path: path))
    return target


def state_of(path: Path) -> str:
    """Changes when a module, or a file of a package, changes."""
    if path.is_dir():
        return _digest(list(_stated(path)))
    stat = path.stat()
    return _digest([path.name, str(stat.st_size), str(stat.st_mtime_ns)])


def _stated(folder: Path) -> Iterator[str]:
    for file in _files(folder):
        stat = file.stat()
        yield f"{file.relative_to(folder).as_posix()} {stat.st_size} {stat.st_mtime_ns}"


def _files(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        yield from (Path(root, name) for name in sorted(names) if not name.endswith(".pyc"))


def _digest_of_wheels(wheel_files: list[Path]) -> str:
    return _digest([f"{wheel.name} {wheels.digest(wheel)}" for wheel in wheel_files])


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()[:12]
