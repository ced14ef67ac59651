"""Rate limits of connectors (`headrace.rate.*`), as Headrace workers report them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui.formatting import short


def limit_text(one: Mapping[str, Any]) -> str:
    """The limit in a progress event, such as `limit 500 records/s, 2.0 MB/s`; empty without one."""
    limit = one.get("limit") or {}
    records, size = limit.get("records"), limit.get("bytes")
    parts = [f"{short(int(records))} records/s"] if records is not None else []
    if size is not None:
        text = short(int(size))
        number, prefix = (text[:-1], text[-1]) if text[-1].isalpha() else (text, "")
        parts.append(f"{number} {prefix}B/s")
    return f"limit {', '.join(parts)}" if parts else ""
