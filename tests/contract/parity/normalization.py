"""Values of a recording without what differs between two runs: names, folders, times, versions."""

from __future__ import annotations

import json
import re
from typing import Any

_TIMES = range(1_600_000_000_000, 2_100_000_000_001)  # milliseconds since the epoch
_BY_KEY = {
    "worker_id": "<worker>",
    "version": "<version>",
    "commit": "<commit>",
    "kafka_cluster_id": "<cluster>",
}


class Normalizer:
    """Replaces volatile parts of values. `replacements`: texts that differ between runs, with their placeholders;
    `last`: such texts that are looked for only when everything else has been replaced."""

    def __init__(self, replacements: dict[str, str]) -> None:
        self._replacements = replacements
        self.last: dict[str, str] = {}

    def text(self, value: str | bytes) -> str:
        value = value.decode("latin-1") if isinstance(value, bytes) else value
        for found, placeholder in self._replacements.items():
            value = value.replace(found, placeholder)
        value = _without_volatile_parts(value)
        for found, placeholder in self.last.items():
            value = value.replace(found, placeholder)
        return value

    def __call__(self, value: Any, key: str | None = None) -> Any:
        match value:
            case dict():
                if "worker_id" in value and value.get("version", "") is None:
                    value = dict(value, version="null")  # null for a moment in some states: not compared
                return {self.text(str(name)): self(part, name) for name, part in value.items()}
            case list():
                parts = [self(part) for part in value]
                return sorted(parts, key=sorted_json) if key == "offsets" else parts
            case str():
                return self._text_of(value, key)
            case int() if not isinstance(value, bool) and value in _TIMES:
                return "<ts>"
        return value

    def _text_of(self, value: str, key: str | None) -> str:
        if key in _BY_KEY:
            return _BY_KEY[key]
        if key in ("trace", "trace2"):
            return self.text(value.splitlines()[0]) if value else value
        if key == "documentation":
            return "<doc>" if value else value
        return self.text(value)


def _without_volatile_parts(value: str) -> str:
    value = re.sub(r"(available connectors are: ).*", r"\1<plugins>", value, flags=re.S)
    value = re.sub(r"\[B@[0-9a-f]+", "[B@<hash>", value)
    if value.isdigit() and len(value) == 13 and int(value) in _TIMES:
        return "<ts>"
    if re.fullmatch(r"\d+\.\d+\.\d+(-SNAPSHOT)?", value):
        return "<version>"
    return re.sub(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>", value)


def sorted_json(value: Any) -> str:
    """JSON with sorted keys, in which equal values are equal."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def decoded(data: bytes | str | None) -> Any:
    """A key, value or header of Kafka as a value that can be compared."""
    if data is None:
        return None
    data = data.encode() if isinstance(data, str) else data
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return {"hex": data.hex()}
    if "\0" in text:
        return {"hex": data.hex()}
    try:
        return {"json": json.loads(text)}
    except ValueError:
        return {"text": text}


def with_sorted_entries(line: str) -> str:
    """{b=2, a=1} as {a=1, b=2}: Java's HashMap.toString has no guaranteed order."""
    match = re.fullmatch(r"\{(.*)\}", line)
    if match and "{" not in match[1]:
        return "{" + ", ".join(sorted(match[1].split(", "))) + "}"
    return line
