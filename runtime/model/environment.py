"""The environment of a plugin: the folders that a process needs on sys.path to import the plugin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Environment:
    """The folders are searched before the worker's own packages. Where they do not exist, such as on another machine,
    the archive is unpacked instead. A process has at most one environment."""

    id: str  # changes with the content
    folders: tuple[str, ...] = ()
    archive: str = ""  # path of a zip file

    @property
    def base(self) -> str:
        """The id without the number of a reload: the environment that the plugins belong to; empty: none."""
        return self.id.partition("~")[0]

    @classmethod
    def from_json(cls, data: dict[str, Any] | None) -> Environment | None:
        """The environment in a JSON object; None for null."""
        return None if data is None else cls(data["id"], tuple(data["folders"]), data["archive"])
