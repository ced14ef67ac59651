"""The texts of arrays, hstore and points."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import Any

_PAIR = re.compile(r'"((?:[^"\\]|\\.)*)"=>(?:NULL|"((?:[^"\\]|\\.)*)")', re.DOTALL)
_ELEMENT = re.compile(r'"((?:[^"\\]|\\.)*)"|([^,{}]+)|([{},])', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def elements(text: str) -> list[Any]:
    """The texts of an array's elements, None for NULL, with arrays in an array as lists."""
    if text.startswith("["):  # bounds that do not start at 1: [0:1]={…}
        text = text.partition("=")[2]
    if "{" not in text[1:] and '"' not in text:
        inner = text[1:-1]
        return [None if part.upper() == "NULL" else part for part in inner.split(",")] if inner else []
    tokens = _ELEMENT.finditer(text)
    next(tokens)
    return _list(tokens)


def _list(tokens: Iterator[re.Match[str]]) -> list[Any]:
    items: list[Any] = []
    for token in tokens:
        quoted, plain, mark = token.groups()
        if quoted is not None:
            items.append(_ESCAPE.sub(r"\1", quoted) if "\\" in quoted else quoted)
        elif plain is not None:
            items.append(None if plain.upper() == "NULL" else plain)
        elif mark == "{":
            items.append(_list(tokens))
        elif mark == "}":
            break
    return items


def pairs(text: str) -> dict[str, str | None]:
    """The pairs of an hstore."""
    return {
        _ESCAPE.sub(r"\1", key): None if value is None else _ESCAPE.sub(r"\1", value)
        for key, value in ((match[1], match[2]) for match in _PAIR.finditer(text))
    }


def point(text: str) -> dict[str, Any]:
    """A point as Debezium's struct, with its well-known binary."""
    x, y = (float(part) for part in text.strip("()").split(","))
    return {"x": x, "y": y, "wkb": struct.pack("<BIdd", 1, 1, x, y), "srid": None}
