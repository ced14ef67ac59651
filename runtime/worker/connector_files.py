"""Reads the connector files of the command line: properties, or JSON in either of Connect's shapes."""

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
    """A connector file is invalid; the message names the file and the remedy."""


def read_all(files: Sequence[str]) -> list[tuple[str, CreateRequest]]:
    """Each file with its request. ConnectorFileError if a file is invalid, or two files name the same connector."""
    found = [(file, read(Path(file))) for file in files]
    first: dict[str, str] = {}
    for file, request in found:
        if request.name in first:
            raise ConnectorFileError(
                f"{file}: {first[request.name]} also defines the connector {request.name}; rename one of them"
            )
        first[request.name] = file
    return found


def read(path: Path) -> CreateRequest:
    """The request in a file. The content decides between JSON and properties, whatever the file is called, as in
    Connect."""
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
    """`{"name", "config", "initial_state"}`, or the configuration itself with the key `name`."""
    try:
        whole = isinstance(json.loads(text).get("config"), dict)
        if whole:
            request = bodies.create_request(text, others=True)  # such as `tasks` and `type` of a saved answer
            _name(path, request.name)
            return request
        config = bodies.config(text)
    except (BadRequest, ValueError, RecursionError) as e:
        raise ConnectorFileError(f"{path}: {e}") from None
    return CreateRequest(_name(path, config.get("name")), config, None)


def _name(path: Path, name: str | None) -> str:
    if not name:
        raise ConnectorFileError(f"{path}: the key `name` is missing; add the connector's name")
    return name
