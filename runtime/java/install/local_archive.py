"""Plugin archives on this machine, in Confluent Hub's layout or any other: a zip or tar.gz file with the jars."""

from __future__ import annotations

import json
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from runtime.java.install.coordinate import ARCHIVES
from runtime.java.install.errors import InstallError

_NAME = re.compile(r"(?!\.+$)[A-Za-z0-9_.+-]+")


@dataclass(frozen=True, slots=True)
class LocalArchive:
    """An archive, and the name of the plugin's folder."""

    file: Path
    folder_name: str

    @classmethod
    def parse(cls, text: str) -> LocalArchive | None:
        """None if the text names no archive. The folder is named after name and version in the manifest.json of
        Confluent Hub, or after the file. Raises InstallError."""
        suffix = next((suffix for suffix in ARCHIVES if text.lower().endswith(f".{suffix}")), "")
        file = Path(text)
        if not suffix or "@" in text or (":" in text and not file.is_file()):
            return None
        if not file.is_file():
            raise InstallError(f"{text} does not exist")
        name = _manifest_name(file) or file.name[: -len(suffix) - 1]
        if not _NAME.fullmatch(name):
            raise InstallError(f"{file.name} is refused: {name!r} cannot be the name of a plugin's folder")
        return cls(file, name)

    def __str__(self) -> str:
        return self.file.name


def _manifest_name(file: Path) -> str:
    """NAME-VERSION according to the manifest in the only folder of a zip file; empty without one."""
    if not zipfile.is_zipfile(file):
        return ""
    try:
        with zipfile.ZipFile(file) as archive:
            paths = [PurePosixPath(name) for name in archive.namelist()]
            place = next((path for path in paths if path.name == "manifest.json" and len(path.parts) <= 2), None)
            manifest = json.loads(archive.read(str(place))) if place else {}
    except (OSError, ValueError, KeyError, RuntimeError, zipfile.BadZipFile) as error:
        raise InstallError(f"{file.name} cannot be read: {error}") from error
    name, version = (manifest.get(key) for key in ("name", "version")) if isinstance(manifest, dict) else ("", "")
    return f"{name}-{version}" if name and version else ""
