"""What was installed into a plugin's folder: a file beside its jars."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.java.discovery.locations import class_path
from runtime.java.install.errors import InstallError

_FILE = "headrace-plugin.json"


@dataclass(frozen=True, slots=True)
class PluginRecord:
    """`source`: a coordinate, or the name of an archive. `jars`: SHA-256 by path below the folder; empty if unknown."""

    source: str
    jars: Mapping[str, str]

    @classmethod
    def of(cls, folder: Path, source: str) -> PluginRecord:
        """The present content of a folder. Raises OSError."""
        return cls(source, {str(jar.relative_to(folder)): _digest(jar) for jar in class_path(folder)})

    @classmethod
    def read(cls, folder: Path) -> PluginRecord | None:
        """The record in a folder; None if it was not installed by this program."""
        try:
            content = json.loads((folder / _FILE).read_bytes())
            return cls(str(content["coordinate"]), dict(content.get("sha256", {})))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def write(self, folder: Path) -> None:
        """Raises OSError."""
        content = {"coordinate": self.source, "sha256": self.jars}
        (folder / _FILE).write_text(json.dumps(content, indent=2) + "\n")

    def require(self, expected: Mapping[str, str]) -> None:
        """Raises InstallError if these are not the jars of the folder."""
        for problem, paths in (
            ("is missing", expected.keys() - self.jars.keys()),
            ("is not in the lock file", self.jars.keys() - expected.keys()),
            ("has another checksum than in the lock file", _differing(self.jars, expected)),
        ):
            if paths:
                raise InstallError(f"{self.source} is not the plugin of the lock file: {min(paths)} {problem}")


def named(name: str, into: Path) -> tuple[Path, PluginRecord]:
    """The folder of an installed plugin by its name, with or without the version. Raises InstallError."""
    folders = _folders(into)
    exact = [folder for folder in folders if folder.name == name]
    matches = exact or [folder for folder in folders if _without_version(folder.name) == name]
    if not matches:
        raise InstallError(f"{into} has no plugin {name}: {_listed(folders) or 'it has none'}")
    if len(matches) > 1:
        raise InstallError(f"{name} is installed in several versions: choose from {_listed(matches)}")
    record = PluginRecord.read(matches[0])
    if record is None:
        raise InstallError(f"{matches[0]} was not installed by this command, so that it is not changed")
    return matches[0], record


def installed(into: Path) -> list[tuple[Path, PluginRecord]]:
    """The plugins that this program has installed, by name. Raises InstallError."""
    return [(folder, record) for folder in _folders(into) if (record := PluginRecord.read(folder)) is not None]


def _folders(into: Path) -> list[Path]:
    try:
        return sorted(child for child in into.iterdir() if child.is_dir())
    except OSError as error:
        raise InstallError(f"the plugins in {into} cannot be listed: {error}") from error


def _without_version(name: str) -> str:
    parts = name.split("-")
    version = next((n for n, part in enumerate(parts) if n and part[:1].isdigit()), len(parts))
    return "-".join(parts[:version])


def _listed(folders: Sequence[Path]) -> str:
    return ", ".join(folder.name for folder in folders)


def _differing(jars: Mapping[str, str], expected: Mapping[str, str]) -> set[str]:
    return {path for path, digest in jars.items() if expected.get(path, digest) != digest}


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
