"""Deliberate differences of transformations, dates and regular expressions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.contract.differential.declared.table import Declared, of
from tests.contract.differential.run import Difference

_YEAR_1, _YEAR_10000 = -62_135_596_800_000, 253_402_300_800_000
_GREGORIAN = -12_219_292_800_000  # 15 October 1582


def _times(node: Any) -> Iterator[int]:
    """All dates in a document, and numbers that may be dates."""
    if isinstance(node, dict):
        if "date" in node:
            yield node["date"]
        if "i" in node:
            yield int(node["i"])
        for inner in node.values():
            yield from _times(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from _times(inner)


def _converted(one: Difference) -> bool:
    return of(one, "transform", "TimestampConverter$Value")


def _beyond_years(one: Difference) -> bool:
    if not _converted(one) or one.kind != "outcome" or "error" in one.java:
        return False
    if one.case["config"]["target.type"] in ("unix", "Time"):  # they hold any year
        return False
    if "outside the years" in one.ours.get("message", ""):
        return True
    return any(not _YEAR_1 <= time < _YEAR_10000 for time in _times(one.java["ok"]["value"]))


def _literal_beyond_years(one: Difference) -> bool:
    if not of(one, "transform", "InsertHeader") or "error" in one.java:
        return False
    return any(not _YEAR_1 <= time < _YEAR_10000 for time in _times(one.java["ok"]["headers"]))


def _julian(one: Difference) -> bool:
    """A date before 1582 in Java's result or in its input: fields set one by one may give a distant date."""
    if not _converted(one) or one.kind != "value":
        return False
    given = [*_times(one.java["ok"]["value"]), *_times(one.ours["ok"]["value"]), *_times(one.case["record"]["value"])]
    return any(time < _GREGORIAN for time in given)


def _message(name: str, *beginnings: str) -> Any:
    def covers(one: Difference) -> bool:
        message = one.java.get("message") or ""
        return of(one, "transform", name) and one.kind in ("message", "error") and message.startswith(beginnings)

    return covers


def _several_faults(one: Difference) -> bool:
    """A null in a required field, and a value that cannot be cast or masked."""
    if not (of(one, "transform", "Cast$Value") or of(one, "transform", "MaskField$Value")):
        return False
    null = "Invalid value: null used for required field"
    return one.kind in ("message", "error") and (one.ours["message"] or "").startswith(null)


def _masked_decimal(one: Difference) -> bool:
    return (
        of(one, "transform", "MaskField$Value") and one.kind == "value" and '"dec"' in str(one.java).replace("'", '"')
    )


DECLARED: tuple[Declared, ...] = (
    Declared("Dates and timestamps beyond the years 1 to 9999", _beyond_years),
    Declared("Dates and timestamps beyond the years 1 to 9999", _literal_beyond_years),
    Declared("Dates before 15 October 1582 as text", _julian),
    Declared("MaskField of a decimal with a scale", _masked_decimal),
    Declared("HeaderFrom with a field that the schema does not have", _message("HeaderFrom$Value", "Cannot invoke")),
    Declared(
        "HeaderFrom with a field that the schema does not have", _message("TimestampConverter$Value", "Cannot invoke")
    ),
    Declared("TimestampRouter and a record without a timestamp", _message("TimestampRouter", "Timestamp missing")),
    Declared("Several faults of one record", _several_faults),
    Declared("ExtractField of an empty path", _message("ExtractField$Value", "fromIndex(0)")),
)
