"""Character encodings with Java's byte orders and replacements for unmappable characters and bytes."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from runtime.api.errors import ConfigError

_BEYOND_BYTES = re.compile("[\ud800-\udc7f\udd00-\udfff]")


def java_utf8(text: str) -> bytes:
    """The text in UTF-8. Restores bytes that were not UTF-8; writes lone surrogates as question marks."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _BEYOND_BYTES.sub("?", text).encode("utf-8", "surrogateescape")


def well_formed(value: Any) -> Any:
    """A value whose texts can be written in UTF-8: U+FFFD takes the place of bytes that were not UTF-8, a question mark
    that of other lone surrogates, as if Java had read and written the texts."""
    if isinstance(value, str):
        return java_utf8(value).decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return {well_formed(key): well_formed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(well_formed, value))
    return value


_SURROGATES = re.compile("[\ud800-\udfff]")
_LONE = re.compile("[\ud800-\udbff].?|[\udc00-\udfff]", re.DOTALL)
_UNKNOWN = "\ufffd"


class EncodingError(ConfigError):
    """An unknown encoding (Java: SerializationException)."""

    java_name = "org.apache.kafka.common.errors.SerializationException"


class Charset(NamedTuple):
    """Converts text to bytes and back; never raises."""

    name: str
    encode: Callable[[str], bytes]
    decode: Callable[[bytes], str]


def charset(name: str) -> Charset:
    """The encoding of this name; EncodingError if it is unknown."""
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError) as error:
        raise EncodingError(f"Unsupported encoding {name}") from error
    if not name or not codec._is_text_encoding:
        raise EncodingError(f"Unsupported encoding {name}")
    make = _SPECIAL.get(codec.name)
    return (
        make() if make is not None else Charset(codec.name, partial(_encode, codec.name), partial(_decode, codec.name))
    )


def _utf8() -> Charset:
    return Charset("utf-8", java_utf8, lambda data: data.decode("utf-8", "surrogateescape"))


def _encode(name: str, text: str) -> bytes:
    return _whole(name, text).encode(name, "replace")


def _whole(name: str, text: str) -> str:
    """Treats lone surrogates, and the escapes of bytes that were not UTF-8, as unknown characters."""
    return _SURROGATES.sub(_UNKNOWN if name.startswith("utf") else "?", text)


def _decode(name: str, data: bytes) -> str:
    if not name.startswith("utf-16"):
        return data.decode(name, "replace")
    even = len(data) & ~1
    text = _LONE.sub(_unpaired, data[:even].decode(name, "surrogatepass"))
    return text if even == len(data) else text + _UNKNOWN


def _unpaired(match: re.Match[str]) -> str:
    """A lone surrogate also consumes the next unit; the result is two unknown characters if that unit starts a pair."""
    return _UNKNOWN * (2 if match.group()[-1] > "\uffff" else 1)


def _utf16() -> Charset:
    """Reads big-endian without a byte order mark; writes with a mark."""
    return Charset(
        "utf-16",
        lambda text: codecs.BOM_UTF16_BE + _encode("utf-16-be", text) if text else b"",
        partial(_decode_marked, {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}, "utf-16-be"),
    )


def _utf32() -> Charset:
    """Reads big-endian without a byte order mark; writes without a mark."""
    marks = {codecs.BOM_UTF32_LE: "utf-32-le", codecs.BOM_UTF32_BE: "utf-32-be"}
    return Charset("utf-32", partial(_encode, "utf-32-be"), partial(_decode_marked, marks, "utf-32-be"))


def _decode_marked(marks: dict[bytes, str], unmarked: str, data: bytes) -> str:
    for mark, name in marks.items():
        if data.startswith(mark):
            return _decode(name, data[len(mark) :])
    return _decode(unmarked, data)


_SPECIAL = {"utf-8": _utf8, "utf-16": _utf16, "utf-32": _utf32}
"""Encodings that differ between Python and Java."""
