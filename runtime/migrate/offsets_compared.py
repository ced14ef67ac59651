"""Offsets of two exports: those of which the second export is behind the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from runtime.offsets_tool.codec import NONE
from runtime.offsets_tool.document import Document


def count(document: Document) -> int:
    """The number of offsets, without removed ones."""
    return sum(offset != NONE for entries in document.values() for offset in entries.offsets.values())


def behind(before: Document, after: Document) -> Iterator[str]:
    """A line for each offset of `before` that is missing from `after`, or greater there.

    Offsets of sources have any fields. Two of them are compared if they differ in numbers only: with another file name
    or snapshot state, a smaller number does not mean an earlier position.
    """
    for connector, entries in before.items():
        later = after[connector].offsets if connector in after else {}
        for partition, offset in entries.offsets.items():
            if offset == NONE:
                continue
            now = later.get(partition, NONE)
            if now == NONE or _is_behind(orjson.loads(offset), orjson.loads(now)):
                yield f"{connector} {partition.decode()}: {offset.decode()} before, {now.decode()} now"


def _is_behind(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether the two differ in numbers only, of which some are smaller now and none is greater: a row of an event may
    start again at 0 while its position grows."""
    if before.keys() != now.keys():
        return False
    numbers = [key for key in before if _is_number(before[key]) and _is_number(now[key])]
    if any(before[key] != now[key] for key in before if key not in numbers):
        return False
    differences = [now[key] - before[key] for key in numbers if now[key] != before[key]]
    return bool(differences) and all(difference < 0 for difference in differences)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
