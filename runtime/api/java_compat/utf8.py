"""Text as the UTF-8 that Java writes."""

from __future__ import annotations

import re

_BEYOND_BYTES = re.compile("[\ud800-\udc7f\udd00-\udfff]")


def java_utf8(text: str) -> bytes:
    """The text in UTF-8. Restores bytes that were not UTF-8; writes lone surrogates as question marks."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _BEYOND_BYTES.sub("?", text).encode("utf-8", "surrogateescape")
