"""JSON with the same bytes as Jackson's, since Java workers look up offsets by the bytes of their keys."""

from __future__ import annotations

import re
import struct

_ESCAPE = re.compile(rb"\\\\|\\u00[0-9a-f]{2}")
_BEYOND_BMP = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{3}")


def compact_copy(text: bytes) -> bytes:
    """A copy of bytes from orjson, whose own objects hold four kilobytes or more."""
    return b"%b" % text


def jackson_bytes(text: bytes) -> bytes:
    """Compact UTF-8 JSON as Jackson writes it: escapes of control characters have upper-case digits, and characters
    beyond U+FFFF are two escapes."""
    if b"\\u00" in text:
        text = _ESCAPE.sub(_capitals, text)
    return text if text.isascii() else beyond_bmp_escaped(text)


def beyond_bmp_escaped(text: bytes) -> bytes:
    """Replaces characters beyond U+FFFF with two escapes, as Jackson does."""
    return _BEYOND_BMP.sub(_surrogates, text)


def _surrogates(match: re.Match[bytes]) -> bytes:
    high, low = struct.unpack(">HH", match.group().decode().encode("utf-16-be"))
    return b"\\u%04X\\u%04X" % (high, low)


def _capitals(match: re.Match[bytes]) -> bytes:
    escape = match.group()
    return escape if escape == b"\\\\" else b"\\u" + escape[2:].upper()
