"""A manifest: an API with its streams in one YAML or JSON file, translated into one configuration for each stream.

The configuration keys are the only implementation; each field of the manifest stands for one of them. Keys of the
connector's configuration apply to all streams and take precedence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.api.errors import ConfigError
from runtime.config.properties import comma_separated
from runtime.connectors.http.source.manifest.fields import (
    AUTH,
    REQUEST,
    STREAM,
    Entry,
    entries,
    mapping,
    scalar,
    unknown,
)
from runtime.connectors.http.source.manifest.text import Document, read_manifest
from runtime.connectors.http.templates import TextTemplate

MANIFEST, STREAMS, NAME = "http.manifest", "http.manifest.streams", "http.stream"

_TOP = ("base_url", "auth", "headers", "defaults", "streams")
_PARENT_KEYS = tuple(item.key for item in REQUEST.values())
_ABSOLUTE = re.compile(r"https?://|\$\{parent\.")


@dataclass
class StreamConfig:
    """The configuration of one stream. `paths`: the field of the manifest for each key that comes from one."""

    config: dict[str, str] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    at: str = ""

    def add(self, entry: Entry) -> None:
        """Sets a key."""
        self.config[entry.key], self.paths[entry.key] = entry.value, entry.path

    def override(self, own: Mapping[str, str]) -> None:
        """Sets keys of the connector; those of parents only for a stream that has one."""
        has_parent = "http.parent.url" in self.config
        for key, value in own.items():
            if has_parent or not key.startswith("http.parent."):
                self.config[key] = value
                self.paths.pop(key, None)

    def described(self, key: str, error: str) -> str:
        """An error of a key in terms of the manifest."""
        names = {item.key: name for name, item in {**AUTH, **STREAM}.items()}
        text = re.sub(r"\bhttp(?:\.[a-z0-9]+)+", lambda match: _name_of(match[0], names), error)
        return f"{self.paths.get(key, self.at)}: {text}"


def _name_of(key: str, names: Mapping[str, str]) -> str:
    own = "http." + key.removeprefix("http.").replace("parent.", "") if key.startswith("http.parent.") else key
    if key in names or own in names:
        return names.get(key) or names[own]
    return key.replace("http.parameter", "parameters").replace("http.header", "headers")


def stream_configs(config: Mapping[str, str]) -> dict[str, StreamConfig]:
    """The configuration of each selected stream, by name. Without a manifest, that of the connector, without a name.
    ConfigError for an invalid manifest, with the path of the field."""
    if not config.get(MANIFEST):
        return {"": StreamConfig(dict(config))}
    streams = _Translation(read_manifest(config[MANIFEST])).streams()
    wanted = comma_separated(config.get(STREAMS, "")) or list(streams)
    for name in wanted:
        if name not in streams:
            raise unknown(name, f"the stream {name} in {STREAMS}", list(streams))
    own = {key: value for key, value in config.items() if key not in (MANIFEST, STREAMS)}
    for name in wanted:
        streams[name].override(own)
    return {name: streams[name] for name in wanted}


class _Translation:
    """From a document to configurations."""

    def __init__(self, document: Document) -> None:
        self._top, self._typed = mapping(document.texts, ""), document.typed
        for name in self._top:
            if name not in _TOP:
                raise unknown(name, name, list(_TOP))
        self._base = scalar(self._top.get("base_url", ""), "base_url").rstrip("/")
        self._nodes = dict(self._named())

    def streams(self) -> dict[str, StreamConfig]:
        """The configuration of each stream."""
        return {name: self._stream(name) for name in self._nodes}

    def _named(self) -> Iterator[tuple[str, tuple[str, dict[str, Any], Any]]]:
        """The path and the mapping of each stream, as texts and with types, by name."""
        nodes = self._top.get("streams")
        if not isinstance(nodes, list) or not nodes:
            raise ConfigError("streams must be a list of streams")
        names = set()
        for number, node in enumerate(nodes):
            name = scalar(mapping(node, f"streams[{number}]").get("name", ""), f"streams[{number}].name")
            if not re.fullmatch(r"[\w.-]+", name):
                raise ConfigError(f"streams[{number}].name must be a name of letters, digits, . _ or -")
            if name in names:
                raise ConfigError(f"streams[{number}].name: another stream has the name {name}")
            names.add(name)
            yield name, (f"streams.{name}", node, self._typed["streams"][number])

    def _stream(self, name: str) -> StreamConfig:
        at, node, typed = self._nodes[name]
        made = StreamConfig({NAME: name, "topic": name}, {}, at)
        for top in ("auth", "headers"):
            if top in self._top:
                for entry in entries({top: self._top[top]}, {top: self._typed[top]}, "", AUTH):
                    made.add(entry)
        for entry in self._own(node, typed, at):
            made.add(entry)
        self._add_parents(made, name, ())
        return made

    def _own(self, node: dict[str, Any], typed: Any, at: str) -> Iterator[Entry]:
        """The keys of a stream without its parents; those of the stream itself follow the defaults."""
        yield Entry("http.url", self._base, at if "base_url" not in self._top else "base_url")
        defaults, types = self._top.get("defaults", {}), self._typed.get("defaults", {})
        for fields, kinds, path in ((mapping(defaults, "defaults"), types, "defaults"), (node, typed, at)):
            own = {name: value for name, value in fields.items() if name not in ("name", "parent")}
            for entry in entries(own, kinds, path, STREAM):
                yield entry._replace(value=self._url(entry.value)) if entry.key == "http.url" else entry
        parent = node.get("parent")
        if isinstance(parent, dict):
            rest = {name: value for name, value in parent.items() if name not in ("stream", "incremental")}
            yield from entries({"parent": rest}, {"parent": typed["parent"]}, at, STREAM)

    def _url(self, path: str) -> str:
        return path if _ABSOLUTE.match(path) else f"{self._base}/{path.lstrip('/')}"

    def _add_parents(
        self, made: StreamConfig, name: str, children: tuple[str, ...], prefix: str = "http.parent."
    ) -> None:
        """Adds the keys of the parent of a stream, and of the parents of that."""
        at, node, _ = self._nodes[name]
        parent = node.get("parent")
        if parent is None:
            return
        incremental = False
        path = f"{at}.parent"
        if isinstance(parent, dict):
            incremental = scalar(parent.get("incremental", "false"), f"{path}.incremental") == "true"
            path, parent = f"{path}.stream", parent.get("stream")
        parent = scalar(parent, path)
        if parent not in self._nodes:
            raise unknown(parent, f"{path}: the stream {parent}", list(self._nodes))
        if parent in (name, *children):
            raise ConfigError(f"{path}: {parent} is its own parent")
        above, above_node, above_typed = self._nodes[parent]
        for entry in _as_parent(self._own(above_node, above_typed, above), incremental, path):
            made.add(entry._replace(key=prefix + entry.key.removeprefix("http.")))
        self._add_parents(made, parent, (name, *children), f"{prefix}parent.")


def _as_parent(own: Iterator[Entry], incremental: bool, at: str) -> Iterator[Entry]:
    """The keys of a stream as those of a parent. All its records are listed, unless it is read incrementally: a parent
    that has not changed may have children that have."""
    for entry in own:
        names = TextTemplate(entry.value).names
        if not (entry.key in _PARENT_KEYS or entry.key.startswith("http.parameter.")):
            continue
        if incremental:
            yield entry
        elif entry.key.startswith("http.slice.") or (
            names and set(names) & {"cursor", "slice.start"} and entry.key in ("http.url", "http.body")
        ):
            raise ConfigError(f"{at}: all records of this stream cannot be listed; set incremental: true")
        elif not (entry.key.startswith(("http.cursor.", "http.pagination.resume.")) or "cursor" in names):
            yield entry
