"""Finds the differences between two answers."""

from __future__ import annotations

import struct
from typing import Any

from runtime.api.data.java_text import single_value

Json = Any


def difference(java: Json, ours: Json) -> str | None:
    """`outcome` (only one fails), `error` (another class), `message`, `value`, `schema`; None without a difference."""
    if "error" in java or "error" in ours:
        if "error" not in java or "error" not in ours:
            return "outcome"
        if java["error"] != ours["error"]:
            return "error"
        return None if _same_message(java["message"] or "", ours["message"] or "") else "message"
    if same(java["ok"], ours["ok"]):
        return None
    return "schema" if _plain(java["ok"], ours["ok"]) else "value"


def _same_message(java: str, ours: str) -> bool:
    """If Java's message ends in a colon, ours may continue with the cause."""
    return java == ours or (java.endswith(": ") and ours.startswith(java))


def same(java: Json, ours: Json) -> bool:
    """Whether two documents are equal: maps in any order, 32-bit floats by value, NaN equal to NaN."""
    if type(java) is not type(ours):
        return False
    if isinstance(java, list):
        return len(java) == len(ours) and all(map(same, java, ours))
    if not isinstance(java, dict):
        return bool(java == ours)
    if "f32" in java:
        return "f" in ours and _single(ours["f"]) == _quiet(java["f32"])
    if "f" in java:
        return "f" in ours and _quiet(java["f"]) == _quiet(ours["f"])
    if "m" in java:
        return "m" in ours and _same_entries(java["m"], ours["m"])
    if "parameters" in java and "parameters" in ours:
        java, ours = ({**node, "parameters": sorted(node["parameters"])} for node in (java, ours))
    return java.keys() == ours.keys() and all(same(java[name], ours[name]) for name in java)


def _same_entries(java: list[Json], ours: list[Json]) -> bool:
    left = list(ours)
    for entry in java:
        found = next((n for n, other in enumerate(left) if same(entry, other)), None)
        if found is None:
            return False
        del left[found]
    return not left


def _single(bits: str) -> str:
    [number] = struct.unpack(">d", bytes.fromhex(bits))
    if number == number and single_value(number) != number:
        return "digits of a double"
    try:
        return _quiet(struct.pack(">f", number).hex())
    except OverflowError:
        return "beyond"


def _quiet(bits: str) -> str:
    [number] = struct.unpack(">d" if len(bits) == 16 else ">f", bytes.fromhex(bits))
    return "nan" if number != number else bits


def _plain(java: Json, ours: Json) -> bool:
    """Whether two answers have equal values, and so differ in schemas only."""
    return same(_values(java), _values(ours))


def _values(node: Json) -> Json:
    if isinstance(node, dict) and "headers" in node:
        return [node["topic"], node["key"][1], node["value"][1], [[name, held] for name, _, held in node["headers"]]]
    return node[1] if isinstance(node, list) and len(node) == 2 else node
