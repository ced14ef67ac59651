"""Records and messages as lines of at most the terminal's width."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Mapping
from typing import Any

from runtime.pipeline.preview.render import plain
from runtime.plugin_kit.report import width

_INDENT = " " * 6
_LINES = 6  # of one value


class Screen:
    """Standard output. `number` counts the records shown."""

    def __init__(self) -> None:
        self.number = 0

    def record(self, topic: str, key: Any, value: Any, origin: str, note: str = "") -> None:
        """One record: a line with its number, topic, key and origin, and its value below."""
        self.number += 1
        shown_key = "" if key is None else f"  key {as_json(key)}"
        head = f"{self.number:>4}  {topic}{shown_key}  {origin}{f'  {note}' if note else ''}"
        self._print([_cut(head.rstrip(), width())])
        self._print(_value_lines(value))

    def detail(self, text: str) -> None:
        """A line about the last record."""
        columns = width()
        self._print(textwrap.wrap(text, columns, initial_indent=_INDENT, subsequent_indent=_INDENT + "  "))

    def say(self, text: str) -> None:
        """A message about the run, in brackets below the margin."""
        for line in text.splitlines():
            self._print(textwrap.wrap(line, width(), subsequent_indent="  ") or [""])

    def _print(self, lines: list[str]) -> None:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()


def offset_text(partition: Mapping[str, Any] | None, offset: Mapping[str, Any] | None) -> str:
    """Source partition and offset of a record."""
    return f"{as_json(partition)} {as_json(offset)}"


def as_json(value: Any) -> str:
    """Connect's data on one line."""
    return json.dumps(plain(value), ensure_ascii=False)


def _value_lines(value: Any) -> list[str]:
    lines = textwrap.wrap(
        as_json(value), width(), initial_indent=_INDENT, subsequent_indent=_INDENT, break_on_hyphens=False
    )
    return lines if len(lines) <= _LINES else [*lines[: _LINES - 1], f"{_INDENT}…"]


def _cut(text: str, columns: int) -> str:
    return text if len(text) <= columns else text[: columns - 1] + "…"
