"""`headrace plugin install|update|remove|lock`: Java connectors in a folder of `plugin.path`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from runtime.java.install.coordinate import Coordinate
from runtime.java.install.errors import InstallError
from runtime.java.install.installer import Installed, install, remove, update
from runtime.java.install.local_archive import LocalArchive
from runtime.java.install.lock_file import install_locked, lock
from runtime.java.install.resolver import Repositories
from runtime.java.jvm.errors import JvmError
from runtime.plugin_kit.errors import KitError, KitUsageError

_RELOAD = "Running workers use it until they restart, or until `headrace reload plugin`"


def install_plugin(text: str, folders: Sequence[str], repository: str | None, offline: bool) -> int:
    """Installs a coordinate or an archive into the first of the folders, and prints the plugins in it."""
    into = _first(folders)
    with _reported():
        source = LocalArchive.parse(text) or Coordinate.parse(text)
        _print_installed(str(source), install(source, into, repositories=Repositories(repository, offline)))
    return 0


def install_lock(file: Path, folders: Sequence[str], repository: str | None, offline: bool) -> int:
    """Installs the plugins of a lock file into the first of the folders."""
    into = _first(folders)
    with _reported():
        for source, done in install_locked(file, into, Repositories(repository, offline)):
            _print_installed(source, done)
    return 0


def update_plugin(name: str, version: str | None, folders: Sequence[str], repository: str | None, offline: bool) -> int:
    """Replaces a plugin by this version, or by the newest release."""
    into = _first(folders)
    with _reported():
        done = update(name, into, version, repositories=Repositories(repository, offline))
    if done.removed is None:
        print(f"{done.coordinate} is installed already in {done.installed.folder}")
    else:
        _print_installed(str(done.coordinate), done.installed)
        print(f"{done.removed.name} is removed. {_RELOAD}")
    return 0


def remove_plugin(name: str, folders: Sequence[str]) -> int:
    """Removes a plugin from the first of the folders."""
    into = _first(folders)
    with _reported():
        folder = remove(name, into)
    print(f"{folder.name} is removed from {into}. {_RELOAD}")
    return 0


def write_lock(file: Path, folders: Sequence[str]) -> int:
    """Writes the plugins in the first of the folders to a lock file."""
    into = _first(folders)
    with _reported():
        records = lock(into, file)
    print(f"{file}: {len(records)} plugins of {into}")
    return 0


def _first(folders: Sequence[str]) -> Path:
    if not folders:
        raise KitUsageError("plugin.path is empty: name the folder with --plugin-path FOLDER")
    return Path(folders[0])


@contextmanager
def _reported() -> Iterator[None]:
    try:
        yield
    except (InstallError, JvmError) as error:
        raise KitError(str(error)) from None


def _print_installed(source: str, done: Installed) -> None:
    print(f"{source} {'installed in' if done.is_new else 'is installed already in'} {done.folder}")
    for plugin in done.plugins:
        print(f"  {plugin.cls} ({', '.join(plugin.types)}, version {plugin.version or 'unknown'})")
    if done.left_out:
        print(f"  left out, since plugins get these classes from the worker: {', '.join(done.left_out)}")
