"""A config as text to edit: JSON or key=value, each key with the place where its value stands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from tui.config import properties
from tui.config.changes import stored
from tui.editor.checks import Gravity, Problem
from tui.editor.places import BadJson, Parsed, Place, parse


class Form(Enum):
    """How it is written; the value is the word shown."""

    JSON = "JSON"
    PROPERTIES = "key=value"

    @property
    def other(self) -> Form:
        return Form.PROPERTIES if self is Form.JSON else Form.JSON


class Read(NamedTuple):
    """What a text says; `problems` are those of its syntax and shape."""

    config: Mapping[str, str] = {}
    places: Mapping[str, Place] = {}
    problems: tuple[Problem, ...] = ()


def write(config: Mapping[str, str], form: Form) -> str:
    ordered = dict(sorted(config.items()))
    if form is Form.PROPERTIES:
        return properties.written(ordered)
    return json.dumps(ordered, indent=2, ensure_ascii=False)


def read(text: str, form: Form) -> Read:
    return _read_json(text) if form is Form.JSON else _read_properties(text)


def _error(message: str, place: Place) -> Problem:
    return Problem(Gravity.ERROR, message, place)


def _read_json(text: str) -> Read:
    """A flat object, or the one that POST takes: `{"name": …, "config": {…}}`."""
    try:
        parsed = parse(text)
    except BadJson as error:
        return Read(problems=(_error(error.message, error.place),))
    value, base = parsed.value, ()
    if not isinstance(value, dict):
        return Read(problems=(_error("an object is expected, in { }", parsed.place(())),))
    if isinstance(value.get("config"), dict):
        return _flat(parsed, value["config"], ("config",))
    return _flat(parsed, value, base)


def _flat(parsed: Parsed, value: Mapping[str, object], base: tuple[str, ...]) -> Read:
    config, places, problems = {}, {}, []
    for key, one in value.items():
        place = parsed.place((*base, key))
        places[key] = place
        if isinstance(one, dict | list):
            problems.append(_error(f"the value of {key} must be text, a number, true or false", place))
        elif (text := stored(one)) is not None:
            config[key] = text
    return Read(config, places, tuple(problems))


def _read_properties(text: str) -> Read:
    config, places, problems = {}, {}, []
    for entry in properties.entries(text):
        place = Place(entry.line, entry.column)
        if entry.key in config:
            problems.append(_error(f"the key {entry.key} is there twice", place))
        if not entry.key:
            problems.append(_error("a key is expected before =", place))
        config[entry.key], places[entry.key] = entry.value, place
    return Read(config, places, tuple(problems))
