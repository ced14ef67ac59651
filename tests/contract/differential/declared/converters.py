"""Deliberate differences of converters, schemas and literals."""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.contract.differential.declared.table import Declared, of
from tests.contract.differential.run import Difference


def _bytes(answer: Any) -> bytes | None:
    held = answer.get("ok")
    return base64.b64decode(held["b"]) if isinstance(held, dict) and "b" in held else None


def _entries_in_another_order(one: Difference) -> bool:
    if not (of(one, "from_connect", "JsonConverter") or of(one, "from_header", "JsonConverter")) or one.case.get("key"):
        return False
    java, ours = _bytes(one.java), _bytes(one.ours)
    return java is not None and ours is not None and bool(json.loads(java) == json.loads(ours))


DECLARED: tuple[Declared, ...] = (Declared("Order of the entries of maps in JSON objects", _entries_in_another_order),)
