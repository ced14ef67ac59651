"""JSON bytes as Java's Jackson spells them: what Java workers look up by its bytes has to be the same to the byte."""

from __future__ import annotations

import re
import struct

_ESCAPE = re.compile(rb"\\\\|\\u00[0-9a-f]{2}")
_BEYOND_BMP = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{3}")


def jackson_bytes(text: bytes) -> bytes:
    """Compact UTF-8 JSON in Jackson's spelling: control characters with hexadecimals in capitals, and characters
    beyond U+FFFF as pairs of escapes."""
    if b"\\u00" in text:
        text = _ESCAPE.sub(_capitals, text)
    return text if text.isascii() else beyond_bmp_escaped(text)


def beyond_bmp_escaped(text: bytes) -> bytes:
    """Characters beyond U+FFFF as the pair of escapes that Jackson makes of them."""
    return _BEYOND_BMP.sub(_surrogates, text)


def _surrogates(found: re.Match[bytes]) -> bytes:
    high, low = struct.unpack(">HH", found.group().decode().encode("utf-16-be"))
    return b"\\u%04X\\u%04X" % (high, low)


def _capitals(found: re.Match[bytes]) -> bytes:
    escape = found.group()
    return escape if escape == b"\\\\" else b"\\u" + escape[2:].upper()
