"""Maven coordinates as operators write them: GROUP:ARTIFACT:VERSION[:CLASSIFIER][@EXTENSION]."""

from __future__ import annotations

import re
from dataclasses import dataclass

from runtime.java.install.errors import InstallError

ARCHIVES = ("tar.gz", "tgz", "zip")
"""Extensions of archives that contain a plugin with all its dependencies."""

_PART = r"[A-Za-z0-9_.+-]+"
_COORDINATE = re.compile(
    rf"(?P<group>{_PART}):(?P<artifact>{_PART}):(?P<version>{_PART})(:(?P<classifier>{_PART}))?(@(?P<extension>{_PART}))?"
)


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A file in a Maven repository."""

    group: str
    artifact: str
    version: str
    classifier: str = ""
    extension: str = "jar"

    @classmethod
    def parse(cls, text: str) -> Coordinate:
        """Raises InstallError if the text is not a coordinate of a jar or an archive."""
        match = _COORDINATE.fullmatch(text)
        if match is None or any(set(part or "") == {"."} for part in match.groupdict().values()):
            raise InstallError(
                f"{text!r} is not a Maven coordinate: write GROUP:ARTIFACT:VERSION, or "
                f"GROUP:ARTIFACT:VERSION:plugin@tar.gz for a plugin archive"
            )
        coordinate = cls(
            match["group"], match["artifact"], match["version"], match["classifier"] or "", match["extension"] or "jar"
        )
        if coordinate.extension not in ("jar", *ARCHIVES):
            raise InstallError(f"{text}: the extension must be jar, {', '.join(ARCHIVES[:-1])} or {ARCHIVES[-1]}")
        return coordinate

    @property
    def is_archive(self) -> bool:
        return self.extension in ARCHIVES

    @property
    def folder_name(self) -> str:
        """The name of the plugin's folder: two versions get two folders."""
        return f"{self.artifact}-{self.version}"

    def __str__(self) -> str:
        classifier = f":{self.classifier}" if self.classifier else ""
        extension = f"@{self.extension}" if self.extension != "jar" else ""
        return f"{self.group}:{self.artifact}:{self.version}{classifier}{extension}"
