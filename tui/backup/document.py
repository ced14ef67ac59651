"""The document of a backup: the config, state and offsets of connectors as JSON, laid out so that two backups can be
compared by diff.

Configs are those of the REST API: references such as `${file:/path:key}` remain references, other secrets are in clear.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tui import model
from tui.errors import UsageError
from tui.model import Connector, Offset
from tui.offsets.partitions import compact, is_entry
from tui.user_files import parse_json

Json = Any
FORMAT = 1
STATES = ("RUNNING", "PAUSED", "STOPPED")
_KEYS = {"type", "state", "config", "offsets"}


class SavedConnector(NamedTuple):
    """A connector of a backup; `state` is one of STATES, the one that its operator wants. `offsets`: None if the backup
    was made without them."""

    name: str
    type: str
    state: str
    config: Mapping[str, str]
    offsets: tuple[Offset, ...] | None = ()


class BackupDocument(NamedTuple):
    """A backup; `taken` is the time in ISO 8601, `cluster` names the cluster."""

    taken: str
    cluster: Mapping[str, str]
    connectors: Mapping[str, SavedConnector]


def saved(connector: Connector, offsets: tuple[Offset, ...] | None) -> SavedConnector:
    """A connector with its offsets, or without (None)."""
    return SavedConnector(connector.name, connector.type, state_of(connector), connector.config, offsets)


def state_of(connector: Connector) -> str:
    """One of STATES: a connector that is neither paused nor stopped is to run, even if it has failed."""
    return connector.state if connector.state in STATES else "RUNNING"


def value(document: BackupDocument) -> Json:
    connectors = {name: _connector(connector) for name, connector in sorted(document.connectors.items())}
    cluster = dict(document.cluster)
    return {"headrace_backup": FORMAT, "taken": document.taken, "cluster": cluster, "connectors": connectors}


def _connector(connector: SavedConnector) -> Json:
    config = dict(sorted(connector.config.items()))
    saved: Json = {"type": connector.type, "state": connector.state, "config": config}
    if connector.offsets is not None:
        saved["offsets"] = [entry.entry() for entry in connector.offsets]
    return saved


def text(document: Json) -> str:
    """The value of a document as JSON, with a line for each configuration key and each offset."""
    connectors = {name: _connector_text(connector) for name, connector in document["connectors"].items()}
    return _object(_rendered(document, "connectors") | {"connectors": _object(connectors, "  ")}, "") + "\n"


def _connector_text(connector: Json) -> str:
    parts = _rendered(connector, "config", "offsets")
    parts["config"] = _object(_rendered(connector["config"]), "      ")
    if "offsets" in connector:
        offsets = ",\n        ".join(map(compact, connector["offsets"]))
        parts["offsets"] = f"[\n        {offsets}\n      ]" if offsets else "[]"
    return _object(parts, "    ")


def _rendered(members: Mapping[str, Json], *omitted: str) -> dict[str, str]:
    return {key: compact(member) for key, member in members.items() if key not in omitted}


def _object(rendered: Mapping[str, str], indent: str) -> str:
    lines = f",\n{indent}  ".join(f"{compact(key)}: {part}" for key, part in rendered.items())
    return f"{{\n{indent}  {lines}\n{indent}}}" if lines else "{}"


def parse(content: str, where: str) -> BackupDocument:
    """The document of a file. UsageError names the file and the error in it."""
    document = parse_json(content, where)
    if not isinstance(document, dict) or "headrace_backup" not in document:
        raise UsageError(f"{where} is not a backup", "`headrace backup FILE` writes one")
    if document["headrace_backup"] != FORMAT:
        raise UsageError(
            f"{where} has the format {document['headrace_backup']!r}, this program reads {FORMAT}", "update Headrace"
        )
    connectors, cluster = document.get("connectors"), document.get("cluster", {})
    if not isinstance(connectors, dict) or not isinstance(cluster, dict):
        raise UsageError(f"{where}: connectors and cluster must be objects")
    return BackupDocument(
        str(document.get("taken", "")),
        cluster,
        {name: _parsed(name, connector, where) for name, connector in connectors.items()},
    )


def _parsed(name: str, saved_entry: Json, where: str) -> SavedConnector:
    where = f"{where}: connector {name}"
    if not isinstance(saved_entry, dict):
        raise UsageError(f"{where} must be an object")
    if unknown := saved_entry.keys() - _KEYS:
        raise UsageError(f"{where}: unknown key {min(unknown)!r}; expected {', '.join(sorted(_KEYS))}")
    config, state = saved_entry.get("config"), saved_entry.get("state", "RUNNING")
    if not isinstance(config, dict) or not all(isinstance(value, str) for value in config.values()):
        raise UsageError(f"{where}: config must be an object whose values are strings")
    if state not in STATES:
        raise UsageError(f"{where}: state {state!r} is not one of {', '.join(STATES)}")
    offsets = None
    if "offsets" in saved_entry:
        if not isinstance(saved_entry["offsets"], list) or not all(map(is_entry, saved_entry["offsets"])):
            raise UsageError(f'{where}: offsets must be a list of {{"partition": …, "offset": …}}')
        offsets = model.offsets({"offsets": saved_entry["offsets"]})
    return SavedConnector(
        name,
        str(saved_entry.get("type", "unknown")),
        state,
        {**config, "name": name},
        offsets,
    )


def by_name(connectors: Iterable[SavedConnector]) -> dict[str, SavedConnector]:
    """The connectors by name. UsageError if two have the same."""
    named: dict[str, SavedConnector] = {}
    for connector in connectors:
        if connector.name in named:
            raise UsageError(f"two connectors of the backup would be named {connector.name}", "change --rename")
        named[connector.name] = connector
    return named
