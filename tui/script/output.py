"""Results as text in the formats table, wide, tsv, json, jsonl, yaml and name."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

from tui.commands.result import Cell, Result, Table
from tui.formatting import INVISIBLE, cut

# Control and bidirectional characters of a server must not affect the terminal, nor may invisible ones make two names
# look equal; tabs and newlines are kept in text of several lines.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f" + INVISIBLE + "]")
ALIGNED = 64  # characters
_COLOURS = {
    "RUNNING": "32",
    "FAILED": "1;31",
    "UNASSIGNED": "33",
    "RESTARTING": "33",
    "PAUSED": "36",
    "STOPPED": "2",
}


def render(result: Result, form: str, colour: bool = False, exact: bool = False) -> str:
    """The text for standard output, which ends with a newline unless it is empty. `exact`: names in the format `name`
    keep invisible characters, so that another command finds them."""
    if form == "json":
        return _json(result.raw, indent=2) + "\n"
    if form == "jsonl":
        items = result.raw if isinstance(result.raw, list) else [result.raw]
        return "".join(_json(item) + "\n" for item in items)
    if form == "yaml":
        return _yaml(result.raw)
    if form == "tsv":
        tables = result.parts if result.table is None else (result.table,)
        return "\n".join(map(tsv, tables)) or plain(result.text, lines=True)
    if form == "name":
        return "".join(f"{_one_line(name) if exact else plain(name)}\n" for name in result.names)
    if result.table is None:
        return text_of(result, wide=form == "wide")
    return draw(result.table, wide=form == "wide", colour=colour)


def text_of(result: Result, wide: bool) -> str:
    """The text of a result without `table`, and the tables below it, each after an empty line."""
    text = plain(result.text, lines=True) + "\n" if result.text else ""
    return "\n".join([text, *(draw(table, wide) for table in result.parts)])


def tsv(table: Table) -> str:
    """The table with all its columns, a line for each row, cells separated by tabs; tabs and line ends in cells are
    `\\t` and `\\n`."""
    rows = [table.columns, *table.rows]
    return "".join("\t".join(map(_tsv_cell, row)) + "\n" for row in rows)


def _tsv_cell(value: Cell) -> str:
    text = "" if value is None else str(value)
    return plain(text.replace("\t", "\\t").replace("\r\n", "\n").replace("\n", "\\n"))


def plain(text: str, lines: bool = False) -> str:
    """The text with control and invisible characters escaped; on one line unless `lines`."""
    if text.isascii() and text.isprintable():  # the fast path for nearly all cells
        return text
    shown = text if lines else text.replace("\n", " ").replace("\t", " ")
    return _CONTROL.sub(_escaped, shown)


def _one_line(name: str) -> str:
    """The name without control characters, which Connect allows in no name: they would end the line."""
    return re.sub("[\x00-\x1f\x7f-\x9f]", _escaped, name)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def _json(value: Any, indent: int | None = None) -> str:
    ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")
    separators = None if indent else (",", ":")
    options: dict[str, Any] = {"indent": indent, "ensure_ascii": ascii_only, "separators": separators}
    try:
        return json.dumps(value, **options)
    except TypeError:
        from tui.topics import exact_json  # numbers of records; other commands need no decimals

        return exact_json.dumps(value, **options)


def _yaml(value: Any) -> str:
    import yaml

    from tui.topics.exact_json import ExactNumber

    yaml.SafeDumper.add_representer(
        ExactNumber, lambda dumper, number: dumper.represent_scalar("tag:yaml.org,2002:float", number.text)
    )
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True))


def draw(table: Table, wide: bool, colour: bool = False) -> str:
    """The table with columns separated by two blanks. A cell of more than `ALIGNED` characters does not widen its
    column unless most are as long; it shifts the rest of its line."""
    shown = [index for index, name in enumerate(table.columns) if wide or name not in table.wide]
    grid = [[table.columns[index] for index in shown]]
    grid += [[_cell(row[index]) for index in shown] for row in table.rows]
    widths = [_widest(column) for column in zip(*grid, strict=True)]
    lines = [_line(cells, widths) for cells in grid]
    if colour:
        lines = [_painted(line) for line in lines]
    return "\n".join(lines) + "\n"


def _cell(value: Cell) -> str:
    return "" if value is None else plain(cut(str(value)))


def _width(text: str) -> int:
    """The width in a terminal: East Asian characters take two columns, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def _widest(column: Sequence[str]) -> int:
    widths = list(map(len if "".join(column).isascii() else _width, column))
    aligned = [width for width in widths if width <= ALIGNED]
    return max(aligned if len(aligned) * 2 > len(widths) else widths)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    if "".join(cells).isascii():
        return "  ".join(map(str.ljust, cells, widths)).rstrip()
    return "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=True)).rstrip()


_STATE = re.compile(r"(?<=  )(" + "|".join(_COLOURS) + r")(?=  |$)")


def _painted(line: str) -> str:
    return _STATE.sub(lambda match: f"\x1b[{_COLOURS[match.group()]}m{match.group()}\x1b[0m", line, count=1)
