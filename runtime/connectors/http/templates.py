"""Texts with placeholders, such as `https://example.com/${topic}/${key.id}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any
from urllib.parse import quote

from runtime.api.data.record import SinkRecord
from runtime.api.errors import ConfigError, DataError

_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")
RECORD_NAMES = ("topic", "partition", "offset", "timestamp", "key", "value")


class TextTemplate:
    """A text whose placeholders are replaced; values are percent-encoded if `encoded`, except for a value at the
    beginning if `whole`, which is a URL."""

    def __init__(self, text: str, encoded: bool = True, whole: bool = False) -> None:
        pieces = _PLACEHOLDER.split(text)
        self._text = text
        self._literals, self.names = pieces[::2], tuple(pieces[1::2])
        self._encoded, self._whole = encoded, whole

    def check(self, name: str, known: Collection[str]) -> None:
        """Raises ConfigError for a placeholder whose first part is not known. `name`: the configuration key."""
        for placeholder in self.names:
            if placeholder.partition(".")[0] not in known:
                raise ConfigError(
                    f"Invalid value for configuration {name}: ${{{placeholder}}} is unknown; use "
                    + ", ".join(f"${{{name}}}" for name in known)
                )

    def fill(self, value_of: Callable[[str], Any]) -> str:
        """The text with the value of each placeholder."""
        if not self.names:
            return self._text
        pieces = [self._literals[0]]
        for number, (name, literal) in enumerate(zip(self.names, self._literals[1:], strict=True)):
            text = as_text(value_of(name))
            plain = not self._encoded or (self._whole and number == 0)
            pieces += [text if plain else quote(text, safe=""), literal]
        return "".join(pieces)


def as_text(value: Any) -> str:
    """A scalar as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)


def of_record(record: SinkRecord) -> Callable[[str], Any]:
    """The values of the placeholders for a record; they raise DataError for a missing or composite value."""

    def value_of(name: str) -> Any:
        part, _, path = name.partition(".")
        value: Any = {
            "topic": record.topic,
            "partition": record.kafka_partition,
            "offset": record.kafka_offset,
            "timestamp": record.timestamp,
            "key": record.key,
            "value": record.value,
        }[part]
        for field in filter(None, path.split(".")):
            value = value.get(field) if isinstance(value, dict) else None
        if value is None or isinstance(value, dict | list):
            raise DataError(f"The record has no value for ${{{name}}} in http.url")
        return value

    return value_of
