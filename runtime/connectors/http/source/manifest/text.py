"""The text of a manifest, in YAML or JSON. All scalars are read as texts, as they are written, since configuration
values are texts: `no` is not false and 2026-01-01 is not a date."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from runtime.api.errors import ConfigError
from runtime.system.allowed_folders import allowed_folders

_LARGEST = 1 << 20  # characters


class Document(NamedTuple):
    """A document, once with all scalars as texts, and once with the types of JSON, for bodies."""

    texts: Any
    typed: Any


def manifest_path(value: str) -> str | None:
    """The path of the file, if the value is one and not the manifest itself."""
    return None if "\n" in value or value.lstrip().startswith("{") else value.strip()


def read_manifest(value: str) -> Document:
    """From the path of a file, or from its text. ConfigError if it cannot be read; it does not show the text, which may
    have secrets."""
    path = manifest_path(value)
    text = value if path is None else _read(path)
    return _json(text) if text.lstrip().startswith("{") else _yaml(text)


def _read(path: str) -> str:
    try:
        with os.fdopen(allowed_folders().open(path, os.O_RDONLY), encoding="utf-8") as file:
            text = file.read(_LARGEST + 1)
    except UnicodeDecodeError:
        raise ConfigError(f"the file {path} is not in UTF-8") from None
    except OSError as error:
        raise ConfigError(f"the file {path} cannot be read: {error.strerror or error}") from None
    if len(text) > _LARGEST:
        raise ConfigError(f"the file {path} is too large")
    return text


def _json(text: str) -> Document:
    try:
        return Document(json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=_unique), json.loads(text))
    except json.JSONDecodeError as error:
        raise ConfigError(f"not valid JSON: {error.msg} in line {error.lineno}") from None


def _yaml(text: str) -> Document:
    import yaml

    class Texts(yaml.BaseLoader):
        """Scalars as texts."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            pairs = [(self.construct_object(key, True), self.construct_object(item, True)) for key, item in node.value]
            return _unique(pairs)

    class Typed(yaml.SafeLoader):
        """Scalars with the types of JSON, which has no dates."""

    Typed.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    try:
        return Document(yaml.load(text, Texts), yaml.load(text, Typed))  # both create plain values only
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"not valid YAML: {error.problem}{line}") from None
    except yaml.YAMLError:
        raise ConfigError("not valid YAML: it has characters that are not allowed") from None


def _unique(items: list[tuple[Any, Any]]) -> dict[Any, Any]:
    mapping: dict[Any, Any] = {}
    for name, item in items:
        if name in mapping:
            raise ConfigError(f"{name!r} is given twice in one place")
        mapping[name] = item
    return mapping
