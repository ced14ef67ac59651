"""Rate limits of connectors (`headrace.rate.*`), as Headrace workers report them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui.formatting import short


def limit_text(one: Mapping[str, Any]) -> str:
    """The limit in a progress event, such as `limited to 500 records/s and 2.0M bytes/s`; empty without one."""
    limit = one.get("limit") or {}
    parts = [f"{short(int(limit[unit]))} {unit}/s" for unit in ("records", "bytes") if limit.get(unit) is not None]
    return f"limited to {' and '.join(parts)}" if parts else ""
