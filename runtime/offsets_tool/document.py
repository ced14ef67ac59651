"""The JSON that is exported and imported: `{"connector": [{"partition": {…}, "offset": {…} | null}, …], …}`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NoReturn

import orjson

from runtime.herder.errors import BadRequest
from runtime.herder.offset_values import check_values
from runtime.offsets_tool.collection import Line, Offsets
from runtime.offsets_tool.errors import BadInput

Entry = tuple["dict[str, Any] | None", "dict[str, Any] | None"]  # partition, offset; None removes it
Document = Mapping[str, list[Entry]]

_BLOCK = 2_000  # lines written at once


def write(offsets: Offsets, out: Callable[[bytes], object]) -> int:
    """The document, an entry on a line; how many entries there were."""
    total = 0
    before = b"{\n"
    for name in offsets.connectors():
        out(before + orjson.dumps(name) + b": [")
        total += _write_lines(offsets.lines(name), out)
        out(b"\n]")
        before = b",\n"
    out(b"\n}\n" if total else b"{}\n")
    return total


def _write_lines(lines: Iterator[Line], out: Callable[[bytes], object]) -> int:
    count, before = 0, b"\n"
    while block := [b'{"partition":%b,"offset":%b}' % line for line in islice(lines, _BLOCK)]:
        out(before + b",\n".join(block))
        count, before = count + len(block), b",\n"
    return count


def read(text: bytes, origin: str) -> Document:
    """A document, checked to the last entry; BadInput says where it is wrong."""
    try:
        parsed = json.loads(text, parse_constant=_refuse, object_pairs_hook=_once)
    except (ValueError, RecursionError) as e:
        raise BadInput(f"{origin}: not JSON: {e}") from None
    if not isinstance(parsed, dict):
        raise BadInput(f'{origin}: expected an object: {{"connector": [{{"partition": …, "offset": …}}]}}')
    return {name: _entries(entries, f"{origin}: {name}") for name, entries in parsed.items()}


def _entries(value: Any, where: str) -> list[Entry]:
    if not isinstance(value, list):
        raise BadInput(f"{where}: expected an array of partitions with their offsets")
    entries = [_entry(item, f"{where}[{i}]") for i, item in enumerate(value)]
    try:
        check_values(entries)
    except BadRequest as e:
        raise BadInput(f"{where}: {e}") from None
    return entries


def _entry(value: Any, where: str) -> Entry:
    if not isinstance(value, dict) or value.keys() != {"partition", "offset"}:
        raise BadInput(f'{where}: expected an object with "partition" and "offset", and nothing else')
    for key in ("partition", "offset"):
        if not isinstance(value[key], dict | None):
            raise BadInput(f"{where}.{key}: expected an object or null")
    return value["partition"], value["offset"]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(n for n in names if names.count(n) > 1)!r} is there twice in one object")
    return found


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
