"""The history of configs on this machine: one bounded JSONL file for each connector of a cluster.

An entry has the shape of a Headrace worker's `/config/history`. Secrets are hidden before anything is written.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from tui import private_file
from tui.errors import HeadraceError
from tui.offsets import files
from tui.scrubbing import HIDDEN, scrubbed

Json = Any
Config = Mapping[str, str]
MAX_CHANGES = 20
"""Entries of each connector."""
_ASSIGNED = re.compile(r"(?:password|passwd|pwd|secret|token)\s*=(?!\s*\$\{)", re.IGNORECASE)
"""A secret within a value, such as a parameter of a JDBC URL."""


class ConfigHistoryFiles:
    """The histories of one cluster's connectors; `cluster` is its label."""

    def __init__(self, folder: Path, cluster: str) -> None:
        self.folder = folder / "config-history" / files.file_name(cluster.rstrip("/"))

    def read(self, name: str) -> list[Json]:
        """The entries, newest first; empty without changes. Raises HeadraceError."""
        path = self._path(name)
        with files.naming_file(path):
            try:
                lines = private_file.read(path).splitlines()
            except FileNotFoundError:
                return []
        try:
            return [json.loads(line) for line in reversed(lines)]
        except ValueError as error:
            raise HeadraceError(f"{path} is damaged: {error}", "remove the damaged line, or the file") from error

    def add(
        self, name: str, before: Config | None, after: Config | None, state: str, who: str, why: str,
        passwords: Collection[str] = (),
    ) -> None:  # fmt: skip
        """Adds a change that was made; nothing for one without effect. `passwords` are the keys of type PASSWORD.
        Raises HeadraceError."""
        if before == after:
            return
        earlier = self.read(name)
        entry = {
            "number": (earlier[0]["number"] if earlier else 0) + 1,
            "time": int(time.time() * 1000),
            "action": "create" if before is None else "delete" if after is None else "update",
            "who": who,
            "why": why,
            "state": state,
            "before": _without_secrets(before, passwords),
            "after": _without_secrets(after, passwords),
            "name": name,
        }
        kept = [*reversed(earlier[: MAX_CHANGES - 1]), entry]
        files.replace(self._path(name), "".join(json.dumps(line) + "\n" for line in kept))

    def deleted(self) -> list[Json]:
        """`{"name", "time", "who", "why"}` of each connector whose last change was its deletion, the latest first."""
        entries = []
        for path in self.folder.glob("*.jsonl"):
            with files.naming_file(path):
                lines = private_file.read(path).splitlines()
            try:
                last = json.loads(lines[-1])
            except (ValueError, IndexError):
                continue  # damaged, which read() reports
            if last["action"] == "delete":
                entries.append({key: last[key] for key in ("name", "time", "who", "why")})
        return sorted(entries, key=lambda entry: -int(entry["time"]))

    def _path(self, name: str) -> Path:
        return self.folder / f"{files.file_name(name)}.jsonl"


def _without_secrets(config: Config | None, passwords: Collection[str]) -> Config | None:
    """The config with each value hidden as a whole that holds a secret: a part of it must not be restored."""
    if config is None:
        return None
    return {
        key: HIDDEN if scrubbed(text, key, passwords) != text or _ASSIGNED.search(text or "") else text
        for key, text in config.items()
    }
