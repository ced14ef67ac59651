"""JSON of records: values as JSON texts, and JSON pointers (RFC 6901)."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

import orjson

from runtime.api.data.logical import decimal_text
from runtime.api.errors import ConfigError, DataError

_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z


class NoValueError(LookupError):
    """A JSON document has no value at a pointer."""


def json_bytes(value: Any) -> bytes:
    """A value as JSON: Decimal as a number, bytes in Base64, times in ISO 8601. DataError if JSON cannot express it."""
    try:
        return orjson.dumps(value, _plain, _OPTIONS)
    except TypeError as error:
        raise DataError(f"The value cannot be written as JSON: {error}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return orjson.Fragment(decimal_text(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} is not supported")


class JsonPointer:
    """A pointer into JSON documents; the empty pointer is the whole document, -1 the last element of an array."""

    def __init__(self, text: str) -> None:
        """Raises ConfigError for an invalid pointer."""
        if text and not text.startswith("/"):
            raise ConfigError("a JSON pointer starts with /, such as /data/items")
        self._text = text
        self._parts = [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]

    @classmethod
    def of_path(cls, path: str) -> JsonPointer:
        """From names of fields with dots between them, such as `owner.login`."""
        return cls("/" + path.replace("~", "~0").replace("/", "~1").replace(".", "/"))

    def __str__(self) -> str:
        return self._text

    @property
    def name(self) -> str:
        """The last name in the pointer."""
        return self._parts[-1] if self._parts else ""

    def find(self, document: Any) -> Any:
        """The value at the pointer; NoValueError if there is none."""
        value = document
        for part in self._parts:
            if isinstance(value, dict) and part in value:
                value = value[part]
            elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part) < len(value):
                value = value[int(part)]
            elif isinstance(value, list) and part == "-1" and value:
                value = value[-1]
            else:
                raise NoValueError(f"The JSON document has no value at {self._text}")
        return value

    def get(self, document: Any) -> Any:
        """The value at the pointer; None if there is none."""
        try:
            return self.find(document)
        except NoValueError:
            return None


def check_pointer(name: str, value: Any) -> None:
    """A validator of keys that hold a JSON pointer."""
    try:
        JsonPointer(value if isinstance(value, str) else "missing")
    except ConfigError as error:
        raise ConfigError(f"Invalid value {value} for configuration {name}: {error}") from None


def check_pointers(name: str, value: Any) -> None:
    """A validator of keys that hold one or several JSON pointers with commas between them."""
    for pointer in value.split(","):
        check_pointer(name, pointer.strip())
    names = [pointer.rpartition("/")[2].strip() for pointer in value.split(",")]
    if len(names) != len(set(names)):
        raise ConfigError(f"Invalid value {value} for configuration {name}: the fields of the key need different names")
