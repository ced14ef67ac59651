"""Configs as text for the editor, JSON or key=value, parsed with the position of each value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from tui.config import properties
from tui.config.changes import stored
from tui.editor.checks import Problem, Severity
from tui.editor.places import JsonError, ParsedJson, TextPosition, parse
from tui.formatting import editable


class ConfigFormat(Enum):
    """The format of the text; the value is its name on the screen."""

    JSON = "JSON"
    PROPERTIES = "key=value"

    @property
    def other(self) -> ConfigFormat:
        return ConfigFormat.PROPERTIES if self is ConfigFormat.JSON else ConfigFormat.JSON


class ParsedConfig(NamedTuple):
    """A parsed config; `problems` are errors of syntax and shape."""

    config: Mapping[str, str] = {}
    places: Mapping[str, TextPosition] = {}
    problems: tuple[Problem, ...] = ()


def write(config: Mapping[str, str], form: ConfigFormat) -> str:
    ordered = dict(sorted(config.items()))
    if form is ConfigFormat.PROPERTIES:
        return editable(properties.serialized(ordered))
    return editable(json.dumps(ordered, indent=2, ensure_ascii=False))


def read(text: str, form: ConfigFormat) -> ParsedConfig:
    return _read_json(text) if form is ConfigFormat.JSON else _read_properties(text)


def _error(message: str, place: TextPosition) -> Problem:
    return Problem(Severity.ERROR, message, place)


def _read_json(text: str) -> ParsedConfig:
    """Parses a flat object, or the body of POST: `{"name": …, "config": {…}}`."""
    try:
        parsed = parse(text)
    except JsonError as error:
        return ParsedConfig(problems=(_error(error.message, error.place),))
    value, base = parsed.value, ()
    if not isinstance(value, dict):
        return ParsedConfig(problems=(_error("expected an object in { }", parsed.place(())),))
    if isinstance(value.get("config"), dict):
        return _flat(parsed, value["config"], ("config",))
    return _flat(parsed, value, base)


def _flat(parsed: ParsedJson, value: Mapping[str, object], base: tuple[str, ...]) -> ParsedConfig:
    config, places, problems = {}, {}, []
    for key, inner in value.items():
        place = parsed.place((*base, key))
        places[key] = place
        if isinstance(inner, dict | list):
            problems.append(_error(f"the value of {key} must be a string, a number, true or false", place))
        elif (text := stored(inner)) is not None:
            config[key] = text
    return ParsedConfig(config, places, tuple(problems))


def _read_properties(text: str) -> ParsedConfig:
    config, places, problems = {}, {}, []
    for entry in properties.entries(text):
        place = TextPosition(entry.line, entry.column)
        if entry.key in config:
            problems.append(_error(f"duplicate key {entry.key}", place))
        if not entry.key:
            problems.append(_error("expected a key before =", place))
        config[entry.key], places[entry.key] = entry.value, place
    return ParsedConfig(config, places, tuple(problems))
