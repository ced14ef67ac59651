"""Connector files: JSON as for POST /connectors, a flat JSON config, or .properties."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tui.config import properties
from tui.errors import UsageError
from tui.offsets import partitions
from tui.user_files import parse_json

INITIAL = ("initial_state", "initial_offsets")
"""What a file says about the creation of its connector only."""


class ConnectorDocument(NamedTuple):
    """The desired connector of a file; `where` names the file in errors."""

    where: str
    name: str
    config: dict[str, Any]
    initial_state: str = ""
    initial_offsets: Sequence[Any] = ()  # entries with a partition and an offset (KIP-995)


def files_of(path: str) -> list[str]:
    """The connector files of a folder, sorted; for a file or `-`, the path itself. Raises UsageError."""
    if path == "-" or not Path(path).is_dir():
        return [path]
    files = sorted(str(file) for file in Path(path).iterdir() if file.suffix in (".json", ".properties"))
    for file in map(Path, files):
        if file.exists() and not (file.is_file() or file.is_dir()):
            raise UsageError(f"cannot read {file}: not a regular file")
    if not files:
        raise UsageError(f"{path} contains no .json or .properties file")
    return files


def documents(text: str, where: str, name: str = "") -> list[ConnectorDocument]:
    """The connectors of a file; `name` replaces the name of its only connector. Raises UsageError."""
    if where.endswith(".properties") or (not text.lstrip().startswith(("{", "[")) and not where.endswith(".json")):
        entries: list[Any] = [{entry.key: entry.value for entry in properties.entries(text)}]
    else:
        content = parse_json(text, where)
        entries = content if isinstance(content, list) else [content]
    if name and len(entries) > 1:
        raise UsageError(f"{where} has {len(entries)} connectors, and -n can name only one")
    return [_document(entry, where, name) for entry in entries]


def _document(entry: Any, where: str, name: str) -> ConnectorDocument:
    if not isinstance(entry, dict):
        raise UsageError(f"{where}: expected a JSON object for a connector")
    nested = isinstance(entry.get("config"), dict)
    config = dict(entry["config"] if nested else entry)
    unknown = entry.keys() - {"name", "config", *INITIAL} if nested else set()
    if unknown:
        expected = f"name, config, {' and '.join(INITIAL)}"
        raise UsageError(f"{where}: unknown key {sorted(unknown)[0]!r}; expected {expected}")
    name = name or str(entry.get("name") or config.get("name") or "")
    if not name:
        raise UsageError(f"{where}: the connector has no name (name it with -n)")
    nested_keys = [key for key, value in config.items() if isinstance(value, dict | list)]
    if nested_keys:
        raise UsageError(f"{where}: the value of {nested_keys[0]!r} must be text, a number, true or false")
    state, offsets = (entry.get(key) for key in INITIAL) if nested else (None, None)
    offsets = offsets or []
    if not (isinstance(offsets, list) and all(map(partitions.is_entry, offsets))):
        raise UsageError(f'{where}: initial_offsets must be a list: [{{"partition": {{…}}, "offset": {{…}}}}]')
    return ConnectorDocument(where, name, {**config, "name": name}, str(state or ""), offsets)
