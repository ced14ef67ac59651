"""Connector files of the command line: properties, or JSON in either of Connect's shapes."""

from __future__ import annotations

import codecs
import json
from collections.abc import Sequence
from pathlib import Path

from runtime.api.errors import ConfigError
from runtime.config import properties
from runtime.herder.errors import BadRequest
from runtime.rest.http import bodies
from runtime.rest.http.bodies import CreateRequest


class ConnectorFileError(ConfigError):
    """A connector file cannot be understood; the message names file and remedy."""


def read_all(files: Sequence[str]) -> list[tuple[str, CreateRequest]]:
    """What each file asks for; two that name the same connector are a mistake."""
    found = [(file, read(Path(file))) for file in files]
    first: dict[str, str] = {}
    for file, request in found:
        if request.name in first:
            raise ConnectorFileError(f"{file}: the connector {request.name} is in {first[request.name]} already")
        first[request.name] = file
    return found


def read(path: Path) -> CreateRequest:
    """What a file asks for. JSON is told by its content, as Connect does: files of any name may hold either."""
    try:
        text = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError as e:
        raise ConnectorFileError(f"{path}: cannot be read: {e.strerror}") from None
    if text.lstrip()[:1] == b"{":
        return _from_json(path, text)
    try:
        config = properties.load(path)
    except properties.PropertiesError as e:
        raise ConnectorFileError(str(e)) from None
    return CreateRequest(_name(path, config.get("name")), dict(config), None)


def _from_json(path: Path, text: bytes) -> CreateRequest:
    """`{"name", "config", "initial_state"}`, or the config itself with its name among the keys."""
    try:
        whole = isinstance(json.loads(text).get("config"), dict)
        if whole:
            request = bodies.create_request(text, others=True)  # such as `tasks` and `type` of an answer that was kept
            _name(path, request.name)
            return request
        config = bodies.config(text)
    except (BadRequest, ValueError, RecursionError) as e:
        raise ConnectorFileError(f"{path}: {e}") from None
    return CreateRequest(_name(path, config.get("name")), config, None)


def _name(path: Path, name: str | None) -> str:
    if not name:
        raise ConnectorFileError(f"{path}: the connector has no `name`")
    return name
