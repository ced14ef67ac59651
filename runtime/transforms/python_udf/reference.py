"""The text in a configuration that names a function of a user."""

from __future__ import annotations

import difflib
import re
from typing import Any, NamedTuple

from runtime.api.config.types import invalid

PYTHON_UDF, FUNCTION = "headrace.PythonUdf", "function"

_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*\Z")


class FunctionReference(NamedTuple):
    """A module, and the name of a function in it, which may have dots."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"

    @classmethod
    def of(cls, text: str) -> FunctionReference | None:
        """Of `module:function` or `module.function`; also with the file name of the module, and with parentheses.
        None if the text is neither."""
        name = text.strip().removesuffix("()")
        module, colon, function = name.partition(":")
        if colon:
            module = module.removesuffix(".py").replace("/", ".")
        else:
            module, _, function = name.rpartition(".")
        return cls(module, function) if _DOTTED.match(module) and _DOTTED.match(function) else None


def is_reference(name: str, value: Any) -> None:
    """ConfigError unless the value names a function."""
    if FunctionReference.of(str(value)) is None:
        raise invalid(name, value, "Must be module:function, such as orders:clean for the function clean in orders.py")


def no_function(reference: FunctionReference, names: list[str]) -> str:
    """The message for a name that a module does not have; `names` are those that it has."""
    public = [name for name in names if not name.startswith("_")]
    close = difflib.get_close_matches(reference.name, public, 1)
    hint = f". Did you mean {reference.module}:{close[0]}?" if close else ""
    return f"The module {reference.module} has no function {reference.name}{hint}"
