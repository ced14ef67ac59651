"""Shapes of JSON values, checked before code relies on them, and derived from types.

Plain classes instead of a library, to keep script lines fast: a shape is derived when the first such value is checked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, NotRequired, get_args, get_origin

Json = Any
Misfit = tuple[str, str] | None  # the place (`.tasks[0].id`) and the error
DEEPEST = 100  # levels of nesting: far beyond any response, far below Python's recursion limit
_BIGGEST = float(2**63)
_NESTING = (dict, list)
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))  # every byte but brackets
_YEAR_9999 = 253_402_300_799_999.0


class Shape:
    """Any JSON value; subclasses are stricter."""

    def misfit(self, value: Json) -> Misfit:
        """The mismatch between the value and this shape; None if the value fits."""
        return None


Fields = Mapping[str, Shape]


class Text(Shape):
    """A string."""

    def misfit(self, value: Json) -> Misfit:
        return None if isinstance(value, str) else _wrong("a string", value)


class Flag(Shape):
    """true or false."""

    def misfit(self, value: Json) -> Misfit:
        return None if isinstance(value, bool) else _wrong("true or false", value)


class Number(Shape):
    """A number within bounds: 64 bits unless they are given. NaN and Infinity, which Python accepts, are refused."""

    def __init__(
        self, kinds: tuple[type[int | float], ...] = (int,), least: float = -_BIGGEST, most: float = _BIGGEST
    ) -> None:
        self.kinds, self.least, self.most = kinds, least, most

    def misfit(self, value: Json) -> Misfit:
        if isinstance(value, self.kinds) and not isinstance(value, bool) and self.least <= value <= self.most:
            return None
        return _wrong("a number" if float in self.kinds else "a whole number", value)


class Maybe(Shape):
    """A shape, or null."""

    def __init__(self, inner: Shape) -> None:
        self.inner = inner

    def misfit(self, value: Json) -> Misfit:
        return None if value is None else self.inner.misfit(value)


class ListOf(Shape):
    """A list whose elements have a shape."""

    def __init__(self, inner: Shape) -> None:
        self.inner = inner

    def misfit(self, value: Json) -> Misfit:
        if not isinstance(value, list):
            return _wrong("a list", value)
        return _first((f"[{place}]", self.inner, item) for place, item in enumerate(value))


class MapOf(Shape):
    """An object whose values have a shape, whatever its keys."""

    def __init__(self, inner: Shape) -> None:
        self.inner = inner

    def misfit(self, value: Json) -> Misfit:
        if not isinstance(value, dict):
            return _wrong("an object", value)
        return _first((f".{key}", self.inner, item) for key, item in value.items())


class Object(Shape):
    """An object with known keys: `required` ones, and those that may be missing or null. Other keys are ignored."""

    def __init__(self, required: Fields | None = None, optional: Fields | None = None) -> None:
        self.required, self.optional = required or {}, optional or {}

    def misfit(self, value: Json) -> Misfit:
        if not isinstance(value, dict):
            return _wrong("an object", value)
        if missing := next((key for key in self.required if key not in value), None):
            return f".{missing}", "missing"
        return _first((f".{key}", shape, value[key]) for key, shape in self.required.items()) or _first(
            (f".{key}", shape, value[key]) for key, shape in self.optional.items() if value.get(key) is not None
        )


TIME = Number((int, float), 0, _YEAR_9999)
"""Milliseconds since 1970, up to the last year that `datetime` supports."""


def shape_of(expected: Any) -> Shape:
    """The shape of values of a type: a TypedDict, a list, a dictionary, a basic type or one of them or None.
    `Annotated` adds a stricter shape. Keys of a TypedDict that are not required may also be null."""
    if expected not in _SHAPES:
        _SHAPES[expected] = _derived(expected)
    return _SHAPES[expected]


_SHAPES: dict[Any, Shape] = {Any: Shape(), str: Text(), bool: Flag(), int: Number(), float: Number((int, float))}


def _derived(expected: Any) -> Shape:
    if hasattr(expected, "__required_keys__"):
        shapes = {name: shape_of(field) for name, field in expected.__annotations__.items()}
        required = {name: shape for name, shape in shapes.items() if name in expected.__required_keys__}
        return Object(required, {name: shape for name, shape in shapes.items() if name not in required})
    origin, parts = get_origin(expected), get_args(expected)
    if origin is Annotated:
        return parts[1]  # type: ignore[no-any-return]
    if origin is NotRequired:
        return shape_of(parts[0])
    if type(None) in parts:
        (kind,) = (part for part in parts if part is not type(None))
        return Maybe(shape_of(kind))
    return ListOf(shape_of(parts[0])) if origin is list else MapOf(shape_of(parts[1]))


def _first(parts: Iterable[tuple[str, Shape, Json]]) -> Misfit:
    for place, shape, value in parts:
        if misfit := shape.misfit(value):
            return place + misfit[0], misfit[1]
    return None


def _wrong(expected: str, value: Json) -> Misfit:
    """`expected a whole number, got "x"`."""
    if isinstance(value, dict | list):
        shown = "an object" if isinstance(value, dict) else "a list"
    else:
        shown = json.dumps(value)
    return "", f"expected {expected}, got {shown if len(shown) <= 40 else f'{shown[:39]}…'}"


def parsed(text: bytes | str, loads: Callable[[Any], Json] = json.loads) -> Json:
    """Parses JSON; ValueError for text that is not JSON or is nested too deeply."""
    try:
        value = loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if _is_deep(text, value):
        raise ValueError("nested too deeply")
    return value


def _is_deep(text: bytes | str, value: Json) -> bool:
    """Checks level by level, unless the brackets alone show that the text is shallow: lists of connectors take
    megabytes."""
    if type(value) not in _NESTING or (isinstance(text, bytes) and _closes_soon(text)):
        return False
    level = [value]
    for _ in range(DEEPEST):
        parts = (container.values() if type(container) is dict else container for container in level)
        level = [inner for part in parts for inner in part if type(inner) in _NESTING]
        if not level:
            return False
    return True


def _closes_soon(text: bytes) -> bool:
    """Whether removing matching brackets from the inside out soon leaves none."""
    brackets = text.translate(None, _OTHERS)
    for _ in range(DEEPEST // 10):
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if not brackets:
            return True
    return False
