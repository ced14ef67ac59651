"""Names of fields, plain (V1) or as paths into nested ones (V2, KIP-821)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.errors import ConfigError, DataError
from runtime.api.schema import Schema, Type
from runtime.transforms.requirements import require_map


class FieldPath:
    """A field to look up in values and schemas."""

    def __init__(self, text: str, version: str = "V1") -> None:
        self.text = text
        self.steps = (text,) if version.upper() == "V1" else tuple(_steps(text))

    def schema_in(self, schema: Schema) -> Schema | None:
        """The field's schema; None when there is no such field, DataError when the way leads through a scalar."""
        found: Schema | None = schema
        for step in self.steps:
            if found is None:
                return None
            if found.type is not Type.STRUCT:
                raise DataError("Cannot look up fields on non-struct type")
            found = found.field(step)
        return found

    def value_in_map(self, value: Mapping[str, Any]) -> Any:
        """The field's value; None when a step is missing."""
        found: Any = value
        for step in self.steps[:-1]:
            found = found.get(step)
            if found is None:
                return None
            found = require_map(found, "nested field access")
        return found.get(self.steps[-1])

    def value_in_struct(self, schema: Schema, value: Mapping[str, Any], fill: bool) -> Any:
        """The field's value, or its default where `fill`."""
        found: Any = value
        for step in self.steps:
            if found is None:
                return None
            field = schema.field(step)
            if field is None:
                raise DataError(f"{step} is not a valid field name")
            found = found.get(step)
            if found is None and fill:
                found = field.default
            schema = field
        return found


def _steps(text: str) -> list[str]:
    """`a.b` → a, b; "`a.b`.c" → a.b, c. A backtick counts only where a name begins or ends; "\\`" is one as it is."""
    steps: list[str] = []
    rest = text
    while True:
        name, rest_or_none = _wrapped(text, rest) if rest.startswith("`") else _plain(rest)
        steps.append(name)
        if rest_or_none is None:
            return steps
        rest = rest_or_none


def _plain(rest: str) -> tuple[str, str | None]:
    name, dot, after = rest.partition(".")
    return _unescaped(name, rest), after if dot else None


def _unescaped(name: str, rest: str) -> str:
    return name[1:] if name.startswith("\\`") else name


def _wrapped(text: str, rest: str) -> tuple[str, str | None]:
    """A name in backticks: it ends at the next backtick that is followed by a dot or by nothing."""
    position = 1
    while (end := rest.find("`", position)) >= 0:
        escaped = rest[end - 1] == "\\"
        if not escaped and rest[end + 1 : end + 2] in ("", "."):
            name = rest[1:end].replace("\\`.", "`.")
            return name, rest[end + 2 :] if end + 1 < len(rest) else None
        position = end + 1
    raise ConfigError(
        f"Incomplete backtick pair in path: [{text}], consider adding a backslash before backtick at position "
        f"{len(text) - len(rest)} to escape it"
    )
