"""JSON on the event loop of the screen, where keys wait while it is decoded."""

from __future__ import annotations

import json
from typing import Any

import orjson


def loads(text: bytes | str) -> Any:
    """Decodes JSON; raises ValueError. A list of 1,000 connectors (1 MB) blocks the event loop for 22 ms with json and
    8 ms with orjson, which however refuses lone surrogates."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)
