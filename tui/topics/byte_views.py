"""Bytes as text: JSON, plain text or hexadecimal."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, TypeVar

from tui.topics import exact_json

HEX_COLUMNS = 75  # of a line with 16 bytes
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')  # of valid JSON


class ByteView(Enum):
    """How bytes are shown; the value is the view's name on the screen."""

    JSON = "JSON"
    TEXT = "text"
    HEX = "hex"


V = TypeVar("V")


def next_view(views: Sequence[V], view: V, text: Callable[[V], str]) -> V:
    """The next of the views in which the text differs from that in `view`: another press of the key would seem to do
    nothing. `view` if there is none."""
    at, shown_now = views.index(view), text(view)
    return next((other for other in (*views[at + 1 :], *views[:at]) if text(other) != shown_now), view)


def best_view(value: bytes | None) -> ByteView:
    """The most readable view that fits the bytes."""
    if value is None:
        return ByteView.TEXT
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return ByteView.HEX
    if any(ord(char) < 32 and char not in "\t\r\n" for char in text):
        return ByteView.HEX
    try:
        return ByteView.JSON if isinstance(exact_json.loads(text), dict | list) else ByteView.TEXT
    except ValueError:
        return ByteView.TEXT


def shown(value: bytes | None, view: ByteView, most: int = 65536, columns: int = 80) -> str:
    """The bytes in a view, or in another one if it does not fit; cut off after `most` bytes. Lines of hexadecimal fit
    `columns`, of which they need at least 43."""
    if value is None:
        return "null"
    cut = value[:most]
    more = f"\n… {len(value) - most:,} bytes more" if len(value) > most else ""
    if view is ByteView.JSON:
        try:
            return indented(value.decode())[:most] + more
        except ValueError:
            view = ByteView.TEXT
    return (_hex(cut, columns) if view is ByteView.HEX else cut.decode("utf-8", "replace")) + more


def indented(text: str) -> str:
    """JSON on several lines. Numbers keep their digits, and objects all of their keys, unlike those of decoded JSON.
    Raises ValueError for other text."""
    exact_json.loads(text)
    lines, depth, last = [""], 0, ""
    for token in _TOKEN.findall(text):
        if token in ("]", "}"):
            depth -= 1
        if last and (last in "[{," or token in "]}") and last + token not in ("[]", "{}"):
            lines.append("  " * depth)
        lines[-1] += f"{token} " if token == ":" else _legible(token)
        depth += token in ("[", "{")
        last = token
    return "\n".join(lines)


def compacted(text: str) -> str:
    """JSON on one line without blanks, otherwise unchanged. Raises ValueError for other text."""
    exact_json.loads(text)
    return "".join(_TOKEN.findall(text))


def _legible(token: str) -> str:
    """A string with its characters instead of \\u and their number."""
    plain = json.dumps(json.loads(token), ensure_ascii=False) if token.startswith('"') and "\\u" in token else token
    return plain if plain.isprintable() else token


def _hex(value: bytes, columns: int) -> str:
    """`00000000  7b 22 61 22 …  {"a"…`, with 16 bytes in each line, or 8 if that is too wide."""
    size = 16 if columns >= HEX_COLUMNS else 8
    lines = []
    for at in range(0, len(value), size):
        part = value[at : at + size]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        lines.append(f"{at:08x}  {part.hex(' '):<{len(value[:size].hex(' '))}}  {text}")
    return "\n".join(lines)


def plain_bytes(value: bytes | None) -> Any:
    """The bytes as JSON: a string if they are UTF-8, otherwise `{"base64": …}`."""
    if value is None:
        return None
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode("ascii")}


def bytes_of(value: Any) -> bytes | None:
    """The reverse of `plain_bytes`; other JSON values become their JSON text. Raises ValueError for invalid base64."""
    if value is None:
        return None
    if isinstance(value, dict) and value.keys() == {"base64"}:
        return base64.b64decode(value["base64"], validate=True)
    text = value if isinstance(value, str) else exact_json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogateescape")
