"""What the terminal shows already is not sent again. Textual sends the whole screen after each layout, several times
for one key, which takes seconds over a slow line."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from rich.cells import cell_len
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

KNOWN = 10.0
"""Seconds after which a row is sent again, since something else may have written to the terminal."""

RESIZED = 1.0
"""Seconds after the terminal was resized in which whole frames are sent, since some still have the former size."""

_MOVE = re.compile(r"\x1b\[(\d+);(\d+)H")
_STYLED = re.compile(r"((?:\x1b\[[\d;:]*m|\x1b\]8;[^\x1b]*\x1b\\)*)([^\x1b\x00-\x1f\x7f]+)")
_END = re.compile(r"(?:\x1b\[0?m|\x1b\]8;;\x1b\\)*(?:\r?\n)?")
_RESET, _END_OF_LINK, _LINK = "\x1b[0m", "\x1b]8;;\x1b\\", "\x1b]8;"
_SYNCHRONIZED = ("\x1b[?2026h", "\x1b[?2026l")
_GAP = 12
"""Equal cells between two changes that cost less than another movement of the cursor and another style."""

_SECOND = ""
"""The second cell of a wide character."""


Cell = tuple[str, str]
"""The styles and the character of a cell."""


class ShownRow(NamedTuple):
    """What a row shows: its cells from column 1, None where that is unknown; and the last text written to it."""

    cells: list[Cell | None]
    at: float
    last: tuple[int, str]


class KnownRows:
    """The rows that were written, for `KNOWN` seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._rows: dict[int, ShownRow] = {}
        self._resized = -RESIZED

    def forget(self) -> None:
        """The terminal may show something else now."""
        self._rows = {}

    def resized(self) -> None:
        """The terminal has another size: what it shows now depends on the terminal."""
        self._resized = self._clock()

    def unknown(self, data: str) -> str:
        """The parts of a frame that the terminal does not show: texts, each after a movement of the cursor. All of any
        other data, which may change everything."""
        start, *parts = _MOVE.split(data)
        if self._clock() - self._resized < RESIZED:
            self.forget()
            return data
        if start:
            if data not in _SYNCHRONIZED:
                self.forget()
            return data
        rows, now = self._rows, self._clock()
        sent: list[str] = []
        for row, column, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            sent.extend(_changed(rows, now, int(row), int(column), text))
        if parts and not parts[-1]:
            sent.append(f"\x1b[{parts[-3]};{parts[-2]}H")  # where the cursor remains
        return "".join(sent)


def _changed(rows: dict[int, ShownRow], now: float, row: int, column: int, text: str) -> Iterator[str]:
    """The parts of this text that its row does not show, which it shows from now on."""
    if not text:
        return
    known = rows.get(row)
    if known is not None and now - known.at >= KNOWN:
        known = None
    if known is not None and known.last == (column, text):
        return
    cells = _cells(text)
    if cells is None:
        rows.pop(row, None)
        yield f"\x1b[{row};{column}H{text}"
        return
    first = column - 1
    shown = known.cells if known is not None else []
    shown.extend([None] * (first + len(cells) - len(shown)))
    for start, end in _spans(shown[first : first + len(cells)], cells):
        yield f"\x1b[{row};{column + start}H{_text(cells[start:end])}"
    shown[first : first + len(cells)] = cells
    rows[row] = ShownRow(shown, known.at if known is not None else now, (column, text))


def _cells(text: str) -> list[Cell] | None:
    """The cells of a text; None if it has other control sequences than styles and links."""
    cells: list[Cell] = []
    at = 0
    while match := _STYLED.match(text, at):
        at = match.end()
        style, run = match[1].rpartition(_RESET)[2].removeprefix(_END_OF_LINK), match[2]
        if run.isascii():
            cells.extend([(style, character) for character in run])
            continue
        for character in run:
            width = cell_len(character)
            if width == 0:
                if not cells or cells[-1][1] == _SECOND:
                    return None
                last = cells[-1]
                cells[-1] = (last[0], last[1] + character)
            else:
                cells.extend([(style, character), *[(style, _SECOND)] * (width - 1)])
    return cells if _END.fullmatch(text, at) else None


def _spans(shown: list[Cell | None], cells: list[Cell]) -> Iterator[tuple[int, int]]:
    """Ranges of cells that differ; a wide character is in a range with both of its cells."""
    changed = [index for index, (old, new) in enumerate(zip(shown, cells, strict=True)) if old != new]
    if not changed:
        return
    start = end = changed[0]
    for index in changed[1:]:
        if index - end > _GAP:
            yield _whole(cells, start, end + 1)
            start = index
        end = index
    yield _whole(cells, start, end + 1)


def _whole(cells: list[Cell], start: int, end: int) -> tuple[int, int]:
    while start and cells[start][1] == _SECOND:
        start -= 1
    while end < len(cells) and cells[end][1] == _SECOND:
        end += 1
    return start, end


def _text(cells: list[Cell]) -> str:
    """Cells as text with its styles."""
    parts: list[str] = []
    current = ""
    for style, character in cells:
        if style != current:
            parts += [_end_of(current), style]
            current = style
        parts.append(character)
    return "".join([*parts, _end_of(current)])


def _end_of(style: str) -> str:
    return (_RESET if style else "") + (_END_OF_LINK if _LINK in style else "")


class RowDriver(LinuxDriver):
    """Textual's driver, without what the terminal shows."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._known = KnownRows()

    def write(self, data: str) -> None:
        """Send what the terminal does not show."""
        super().write(self._known.unknown(data))

    def resized(self) -> None:
        """The terminal has another size, and may have lost what it showed."""
        self._known.resized()


def driver_for(platform: type[Driver]) -> type[Driver]:
    """The driver to use where this one is Textual's choice."""
    return RowDriver if platform is LinuxDriver else platform
