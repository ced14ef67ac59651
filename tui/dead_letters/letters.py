"""Dead letters: the record, the error headers of KIP-298, and views of its bytes."""

from __future__ import annotations

import base64
import json
from enum import Enum
from typing import Any, NamedTuple

PREFIX = "__connect.errors."
_CAUSED = "Caused by: "
TOPIC = "errors.deadletterqueue.topic.name"
CONTEXT = "errors.deadletterqueue.context.headers.enable"


class ByteView(Enum):
    """How bytes are shown; the value is the view's name on the screen."""

    JSON = "JSON"
    TEXT = "text"
    HEX = "hex"

    @property
    def next(self) -> ByteView:
        order = list(ByteView)
        return order[(order.index(self) + 1) % len(order)]


class DeadLetter(NamedTuple):
    """A record of a dead letter topic; `timestamp` in milliseconds since 1970."""

    partition: int
    offset: int
    timestamp: int = 0
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @property
    def id(self) -> str:
        return f"{self.partition}/{self.offset}"

    def error_header(self, name: str) -> str:
        """The value of the header `__connect.errors.NAME`; the last one if there are several."""
        for header, value in reversed(self.headers):
            if header == PREFIX + name:
                return "" if value is None else value.decode("utf-8", "replace")
        return ""

    @property
    def origin(self) -> tuple[str, int, int] | None:
        """Original topic, partition and offset; None if the headers do not name them."""
        topic, partition, offset = (self.error_header(name) for name in ("topic", "partition", "offset"))
        if not topic or not partition.isdecimal() or not offset.isdecimal():
            return None
        return topic, int(partition), int(offset)

    @property
    def error(self) -> str:
        """The root cause in a short form for a row: `JsonParseException: Unrecognized token 'x'`."""
        causes = [line for line in self.error_header("exception.stacktrace").split("\n") if line.startswith(_CAUSED)]
        if causes:
            name, _, message = causes[-1].removeprefix(_CAUSED).partition(": ")
        else:
            name, message = self.error_header("exception.class.name"), self.error_header("exception.message")
        return ": ".join(part for part in (name.rpartition(".")[2], message.strip()) if part)

    @property
    def own_headers(self) -> list[tuple[str, bytes | None]]:
        """The headers that the record had before it failed."""
        return [(name, value) for name, value in self.headers if not name.startswith(PREFIX)]


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
        return ByteView.JSON if isinstance(json.loads(text), dict | list) else ByteView.TEXT
    except ValueError:
        return ByteView.TEXT


def shown(value: bytes | None, view: ByteView, most: int = 65536) -> str:
    """The bytes in a view, or in another one if it does not fit; cut off after `most` bytes."""
    if value is None:
        return "null"
    cut = value[:most]
    more = f"\n… {len(value) - most:,} bytes more" if len(value) > most else ""
    if view is ByteView.JSON:
        try:
            return json.dumps(json.loads(value), indent=2, ensure_ascii=False)[:most] + more
        except ValueError:
            view = ByteView.TEXT
    return (_hex(cut) if view is ByteView.HEX else cut.decode("utf-8", "replace")) + more


def _hex(value: bytes) -> str:
    """`00000000  7b 22 61 22 …  {"a"…`"""
    lines = []
    for at in range(0, len(value), 16):
        part = value[at : at + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        lines.append(f"{at:08x}  {part.hex(' '):<47}  {text}")
    return "\n".join(lines)


def exported(topic: str, letter: DeadLetter) -> str:
    """The dead letter as one line of JSON; bytes other than UTF-8 become `{"base64": …}`."""
    return json.dumps(
        {
            "topic": topic,
            "partition": letter.partition,
            "offset": letter.offset,
            "timestamp": letter.timestamp,
            "key": _plain(letter.key),
            "value": _plain(letter.value),
            "headers": [[name, _plain(value)] for name, value in letter.headers],
        },
        ensure_ascii=False,
    )


def _plain(value: bytes | None) -> Any:
    if value is None:
        return None
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode("ascii")}
