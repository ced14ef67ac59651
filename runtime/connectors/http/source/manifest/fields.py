"""The fields of a manifest and the configuration keys that they stand for."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from runtime.api.errors import ConfigError

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(rf"(\d+)\s*({'|'.join(_UNITS)})\Z")


def _text(text: str) -> str:
    return text


def pointer(text: str) -> str:
    """A JSON pointer, from one or from names with dots between them."""
    return text if not text or text.startswith("/") else "/" + text.replace(".", "/")


def _milliseconds(text: str) -> str:
    match = _DURATION.match(text.strip())
    if match is None:
        raise ConfigError("must be a duration such as 500ms, 30s, 5m, 1h or 1d")
    return str(int(match[1]) * _UNITS[match[2]])


class ManifestField(NamedTuple):
    """A configuration key, and the conversion to its value."""

    key: str
    convert: Callable[[str], str] = _text


AUTH: Mapping[str, ManifestField] = {
    "auth.type": ManifestField("http.auth.type"),
    "auth.username": ManifestField("http.auth.username"),
    "auth.password": ManifestField("http.auth.password"),
    "auth.token": ManifestField("http.auth.token"),
    "auth.api_key": ManifestField("http.auth.api.key"),
    "auth.api_key_name": ManifestField("http.auth.api.key.name"),
    "auth.api_key_in": ManifestField("http.auth.api.key.in"),
    "auth.token_url": ManifestField("http.oauth2.token.url"),
    "auth.client_id": ManifestField("http.oauth2.client.id"),
    "auth.client_secret": ManifestField("http.oauth2.client.secret"),
    "auth.scope": ManifestField("http.oauth2.scope"),
    "auth.client_auth": ManifestField("http.oauth2.client.auth"),
}
"""Of the manifest itself."""

REQUEST: Mapping[str, ManifestField] = {
    "path": ManifestField("http.url"),
    "body": ManifestField("http.body"),
    "records": ManifestField("http.records.pointer", pointer),
    "cursor.field": ManifestField("http.cursor.pointer", pointer),
    "cursor.start": ManifestField("http.cursor.initial"),
    "pagination.type": ManifestField("http.pagination"),
    "pagination.next": ManifestField("http.pagination.next.pointer", pointer),
    "pagination.more": ManifestField("http.pagination.more.pointer", pointer),
    "pagination.end": ManifestField("http.pagination.end.pointer", pointer),
    "pagination.resume": ManifestField("http.pagination.resume.pointer", pointer),
    "pagination.parameter": ManifestField("http.pagination.parameter"),
    "pagination.first": ManifestField("http.pagination.first"),
    "pagination.size": ManifestField("http.pagination.size"),
    "pagination.size_parameter": ManifestField("http.pagination.size.parameter"),
    "slices.start": ManifestField("http.slice.start"),
    "slices.step": ManifestField("http.slice.step.ms", _milliseconds),
    "slices.format": ManifestField("http.slice.format"),
    "slices.lookback": ManifestField("http.slice.lookback.ms", _milliseconds),
    "slices.end_delay": ManifestField("http.slice.end.delay.ms", _milliseconds),
}
"""Of a stream, and of the streams whose parent it is."""

STREAM: Mapping[str, ManifestField] = {
    **REQUEST,
    "topic": ManifestField("topic"),
    "primary_key": ManifestField("http.key.pointer", pointer),
    "poll_interval": ManifestField("http.poll.interval.ms", _milliseconds),
    "schema": ManifestField("http.value.schema"),
    "schema_sample": ManifestField("http.value.schema.sample"),
    "parent.missing": ManifestField("http.parent.missing"),
    "parent.fields": ManifestField("http.parent.fields"),
    "parent.max_in_flight": ManifestField("http.max.in.flight"),
}
"""Of a stream."""

MAPS = {"headers": "http.header.", "parameters": "http.parameter."}
"""Fields with names and values of their own, and the prefixes of their keys."""


class Entry(NamedTuple):
    """A configuration key with its value, and the path of the field that it stands for."""

    key: str
    value: str
    path: str


def entries(node: Any, typed: Any, at: str, fields: Mapping[str, ManifestField], prefix: str = "") -> Iterator[Entry]:
    """The configuration keys of a mapping in the manifest. `at` is its path, `typed` the same mapping with types.
    ConfigError for a field that is not known, or has no suitable value."""
    for name, value in mapping(node, at).items():
        path, field = f"{at}.{name}" if at else name, prefix + name
        if field in MAPS and _has(fields, field):
            yield from (
                Entry(MAPS[field] + key, scalar(item, f"{path}.{key}"), f"{path}.{key}")
                for key, item in mapping(value, path).items()
            )
        elif field in fields:
            yield Entry(fields[field].key, _value(fields[field], value, typed[name], path), path)
        elif any(known.startswith(f"{field}.") for known in fields):
            yield from entries(value, typed[name], path, fields, f"{field}.")
        else:
            raise ConfigError(f"{path} is unknown{_suggestion(name, _names(fields, prefix))}")


def mapping(node: Any, at: str) -> dict[str, Any]:
    """A mapping in the manifest; ConfigError if it is something else."""
    if not isinstance(node, dict):
        raise ConfigError(f"{at or 'the manifest'} must be a mapping of names to values")
    return node


def scalar(value: Any, path: str) -> str:
    """A text, number or boolean as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        raise ConfigError(f"{path} must be a text or number")
    return value


def unknown(name: str, path: str, known: list[str]) -> ConfigError:
    """The error for a name that is not known."""
    return ConfigError(f"{path} is unknown{_suggestion(name, known)}")


def _value(field: ManifestField, value: Any, typed: Any, path: str) -> str:
    if field.key == "http.body" and isinstance(typed, dict | list):
        return orjson.dumps(typed).decode()
    items = value if isinstance(value, list) and field.key in _LISTS else [value]
    try:
        return ",".join(field.convert(scalar(item, path)) for item in items)
    except ConfigError as error:
        text = str(error)
        raise ConfigError(text if text.startswith(path) else f"{path} {text}") from None


_LISTS = ("http.key.pointer", "http.parent.fields")


def _has(fields: Mapping[str, ManifestField], name: str) -> bool:
    return "path" in fields if name == "parameters" else "auth.type" in fields


def _names(fields: Mapping[str, ManifestField], prefix: str) -> list[str]:
    names = {name.removeprefix(prefix).partition(".")[0] for name in fields if name.startswith(prefix)}
    return sorted(names | ({name for name in MAPS if _has(fields, name)} if not prefix else set()))


def _suggestion(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {close[0]}?" if close else f"; use {', '.join(known)}"
