"""Paths to fields of structs and maps (KIP-821)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.data.schema import Schema, Type
from runtime.api.errors import ConfigError, DataError, IllegalArgumentError
from runtime.transforms.fields.type_checks import require_map


class FieldPath:
    """Looks up a field in values and schemas."""

    def __init__(self, text: str, version: str) -> None:
        self.text = text
        self.steps = (text,) if version.upper() == "V1" else tuple(_steps(text))

    def _check(self) -> None:
        if not self.steps:
            raise IllegalArgumentError(f"Unknown field: {self.text}")

    def schema_in(self, schema: Schema) -> Schema | None:
        """The field's schema; None if it does not exist, DataError if the path leads through a scalar."""
        self._check()
        inner: Schema | None = schema
        for step in self.steps:
            if inner is None:
                return None
            if inner.type is not Type.STRUCT:
                raise DataError("Cannot look up fields on non-struct type")
            inner = inner.field(step)
        return inner

    def value_in_map(self, value: Mapping[str, Any]) -> Any:
        """The field's value; None if a step is missing."""
        self._check()
        inner: Any = value
        for step in self.steps[:-1]:
            inner = inner.get(step)
            if inner is None:
                return None
            inner = require_map(inner, "nested field access")
        return inner.get(self.steps[-1])

    def value_in_struct(self, schema: Schema, value: Mapping[str, Any], fill: bool) -> Any:
        """The field's value, or its default if it is null and `fill` is set."""
        inner: Any = value
        for step in self.steps:
            if inner is None:
                return None
            field = schema.field(step)
            if field is None:
                raise DataError(f"{step} is not a valid field name")
            inner = inner.get(step)
            if inner is None and fill:
                inner = field.default
            schema = field
        return inner


def _steps(text: str) -> list[str]:
    """`a.b` → a, b; "`a.b`.c" → a.b, c. A name in backticks ends at a backtick before a dot or the end, unless a
    backslash precedes that backtick."""
    steps: list[str] = []
    position = 0
    while position < len(text):
        if text[position] == "`":
            name, position = _wrapped(text, position)
        else:
            name = text[position:].partition(".")[0]
            position += len(name) + 1
        steps.append(name)
    return [*steps, ""] if text.endswith(".") else steps


def _wrapped(text: str, start: int) -> tuple[str, int]:
    """A name in backticks, and the position of the next step."""
    name, begin = "", start + 1
    end = text.find("`", begin)
    while end >= 0:
        escaped = text[end - 1] == "\\"
        last = end == len(text) - 1
        if last and escaped:
            break
        if last or (text[end + 1] == "." and not escaped):
            return name + text[begin:end], end + 2
        if escaped and text[end + 1] == ".":
            name += text[begin : end - 1] + "`"
            begin = end + 1
        end = text.find("`", end + 1)
    raise ConfigError(
        f"Incomplete backtick pair in path: [{text}], consider adding a backslash before backtick at position {start} "
        "to escape it"
    )
