"""`headrace plugin install`: a Java connector by its Maven coordinates, into a folder of `plugin.path`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runtime.java.install.coordinate import Coordinate
from runtime.java.install.errors import InstallError
from runtime.java.install.installer import install
from runtime.java.install.resolver import Repositories
from runtime.java.jvm.errors import JvmError
from runtime.plugin_kit.errors import KitError, KitUsageError


def install_plugin(text: str, folders: Sequence[str], repository: str | None, offline: bool) -> int:
    """Installs into the first of the folders, and prints the plugins in it."""
    if not folders:
        raise KitUsageError("plugin.path is empty: name the folder to install into with --plugin-path FOLDER")
    try:
        coordinate = Coordinate.parse(text)
        done = install(coordinate, Path(folders[0]), repositories=Repositories(repository, offline))
    except (InstallError, JvmError) as error:
        raise KitError(str(error)) from None
    print(f"{coordinate} {'installed in' if done.is_new else 'is installed already in'} {done.folder}")
    for plugin in done.plugins:
        print(f"  {plugin.cls} ({', '.join(plugin.types)}, version {plugin.version or 'unknown'})")
    return 0
