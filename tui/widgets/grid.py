"""A table whose cursor belongs to a key, not to a row number, and which draws only visible rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.commands.result import Table
from tui.widgets import states
from tui.widgets.columns import GAP, Column, arrange
from tui.widgets.sorting import ColumnOrder
from tui.widgets.text import fit, visible


class Cell(NamedTuple):
    """A cell's text, as sent by the server, and the component class of its colour. With `parts`, these cells are shown
    side by side, each in its own colour; `text` is their whole text."""

    text: str
    style: str = ""
    parts: tuple[Cell, ...] = ()

    @classmethod
    def of(cls, parts: Sequence[Cell]) -> Cell:
        """A cell of these parts."""
        return cls("".join(part.text for part in parts), "", tuple(parts))


Cells = Callable[[str], Mapping[str, Cell]]
MAX_CACHED_STRIPS = 500  # drawn lines, by their content
MARK = "✚"  # before a marked row


def no_cells(key: str) -> Mapping[str, Cell]:
    """The cells of an empty grid."""
    return {}


class GridMessage(Message):
    """A message of `grid`."""

    def __init__(self, grid: Grid) -> None:
        super().__init__()
        self.grid = grid

    @property
    def control(self) -> Grid:
        return self.grid


class Grid(ScrollView, can_focus=True):
    """Rows are identified by keys; a function returns the cells of each visible row."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "grid--header",
        "grid--cursor",
        "grid--cursor-blurred",
        "grid--muted",
        "grid--strong",
        "grid--error",
        "grid--warning",
        "grid--success",
        "grid--accent",
        *states.CLASSES.values(),
    }
    DEFAULT_CSS = """
    Grid {
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        background: $background;
        color: $foreground;
    }
    Grid > .grid--header { color: $text-muted; text-style: bold; }
    Grid > .grid--cursor { background: $cursor; text-style: bold; }
    Grid > .grid--cursor-blurred { background: $surface; }
    Grid > .grid--muted { color: $text-muted; }
    Grid > .grid--strong { text-style: bold; }
    Grid > .grid--error { color: $error; }
    Grid > .grid--warning { color: $warning; }
    Grid > .grid--success { color: $success; }
    Grid > .grid--accent { color: $accent; text-style: bold; }
    """ + states.css("Grid")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup,ctrl+b", "page(-1)", "page up", show=False),
        Binding("pagedown,ctrl+f", "page(1)", "page down", show=False),
        Binding("home,g,ctrl+home", "edge(0)", "first", show=False),
        Binding("end,G,ctrl+end", "edge(-1)", "last", show=False),
        Binding("enter", "open", "open", show=False),
        Binding("S", "sort", "sort", show=False, tooltip="sort by the next column, or in the other direction"),
    ]

    class Moved(GridMessage):
        """The cursor moved to another key."""

        def __init__(self, grid: Grid, key: str | None) -> None:
            super().__init__(grid)
            self.key = key

    class HeadingClicked(GridMessage):
        """A click on the heading of a column."""

        def __init__(self, grid: Grid, column: str) -> None:
            super().__init__(grid)
            self.column = column

    class Beyond(GridMessage):
        """A key that moves the cursor was pressed on the first (`step` < 0) or last row."""

        def __init__(self, grid: Grid, step: int) -> None:
            super().__init__(grid)
            self.step = step

    class Opened(GridMessage):
        """Enter, or a double click on the row."""

        def __init__(self, grid: Grid, key: str) -> None:
            super().__init__(grid)
            self.key = key

    def __init__(
        self, columns: Sequence[Column], *, id: str | None = None, classes: str | None = None, sortable: bool = False
    ) -> None:
        """`sortable`: the user may sort the rows by a column; otherwise the screen decides on their order."""
        super().__init__(id=id, classes=classes)
        self.columns, self.sortable = tuple(columns), sortable
        self.column_order = self._ordered_by = ColumnOrder()
        self.keys: list[str] = []
        self._given: list[str] = []  # the keys in the order of the screen
        self.cursor: str | None = None
        self.stale = False
        self.marks: Collection[str] | None = None  # the marked keys; None if rows cannot be marked
        self.empty = ""  # the text shown if there are no rows; its lines are separated by \n
        self.sorted_by: tuple[str, str] = ("", "")  # the column of the order, and the arrow after its heading
        self._cells: Cells = no_cells
        self._wanted: Mapping[str, int] = {}
        self._last_row = 0  # the row of the cursor's key; its last one if the key has been removed
        self._styles: dict[str, Style] = {}
        self._arranged: list[tuple[Column, int]] = []
        self._arranged_for = -1
        self._arranged_wanted: Mapping[str, int] = {}
        self._drawn: list[Hashable] = []  # the content of each drawn line
        self._drawn_order = ("", "")  # the order in the drawn heading
        self._strips: dict[Hashable, Strip] = {}

    # Content

    def show(
        self, keys: Sequence[str], cells: Cells, wanted: Mapping[str, int] | None = None, *, follow: bool = False
    ) -> None:
        """Sets the rows. The cursor stays on its key, on the same line of the screen. If its key is gone, no row has
        the cursor until it is moved, so that no action hits another row by mistake; `follow`, for rows that the user
        requested by a filter, moves it to the nearest row."""
        line = self._last_row - self.scroll_offset.y
        length = len(self.keys)
        before, self._given = self._given, list(keys)
        self._cells, self._wanted = cells, wanted or {}
        if self._given != before or self.column_order.column or self._ordered_by != self.column_order:
            self._ordered_by = self.column_order
            self.keys = self._in_order()
        if self._wanted != self._arranged_wanted:
            self._arranged_for = -1
        if len(self.keys) != length or self.virtual_size.height != len(self.keys) + 1:
            self.virtual_size = Size(0, len(self.keys) + 1)
        row = self._row_of(self.cursor)
        if (self.cursor is None or follow) and row is None and self.keys:
            self._put(0 if self.cursor is None else min(self._last_row, len(self.keys) - 1), notify=True)
        elif row is not None and row != self._last_row:
            self._last_row = row
            fits = follow and self._last_row < self._body_height  # the rows above it are not scrolled away
            self.scroll_to(y=0 if fits else max(0, self._last_row - line), animate=False, force=True)
        self.refresh_changed()

    def _in_order(self) -> list[str]:
        """The given keys in the order that the user has chosen."""
        column = next((column for column in self.columns if column.key == self.column_order.column), None)
        if column is None:
            return list(self._given)
        key = column.key
        return self.column_order.sorted(self._given, lambda row: _text(self._cells(row).get(key)), column.right)

    def sort_by(self, order: ColumnOrder) -> None:
        """Sorts the rows; the cursor stays on its key."""
        self.column_order = order
        self.sorted_by = (order.column, order.arrow) if order.column else ("", "")
        self.show(self._given, self._cells, self._wanted)
        if self.current is not None:
            self.go(self.current)
        self.refresh()

    def action_sort(self) -> None:
        self.sort_by(self.column_order.following([column for column, _ in self.arranged if column.title]))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "sort" or self.sortable

    def refresh_changed(self) -> None:
        """Redraws only the lines whose content has changed."""
        height, width = self._body_height, self.scrollable_content_region.width
        if height != len(self._drawn) or self._arranged_for != width or self._drawn_order != self.sorted_by:
            self.refresh()
            return
        now = [self._content(y) for y in range(1, height + 1)]
        differing = [
            y for y, (hashable, other) in enumerate(zip(now, self._drawn, strict=True), 1) if hashable != other
        ]
        if len(differing) > height // 2:
            self.refresh()
        elif differing:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in differing))

    def _content(self, y: int) -> Hashable:
        """The content of a line, by which changes are detected."""
        row = y - 1 + self.scroll_offset.y
        if row >= len(self.keys):
            return self._empty_line(y)
        key = self.keys[row]
        marked = self.marks is not None and key in self.marks
        return key == self.cursor, marked, tuple(self._cells(key).items())

    def _empty_line(self, y: int) -> str | None:
        """The line of the text that is shown if there are no rows."""
        if self.keys or not self.empty:
            return None
        width = max(self.size.width - 2, 10)  # without the margins
        lines = [part for line in self.empty.split("\n") for part in wrap(line, width) or [""]]
        return lines[y - 2] if 0 <= y - 2 < len(lines) else None

    def table(self, keys: Sequence[str] | None = None) -> Table:
        """All columns of these rows, by default of all rows, also those that have no room; states without glyphs."""
        columns = [column for column in self.columns if column.title]
        rows = []
        for key in self.keys if keys is None else keys:
            cells = self._cells(key)
            rows.append(tuple(_text(cells.get(column.key)) for column in columns))
        return Table(tuple(column.title for column in columns), tuple(rows))

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Replaces the columns."""
        self.columns, self._arranged_for = tuple(columns), -1
        if self.sortable and all(column.key != self.column_order.column for column in self.columns):
            self.column_order, self.sorted_by = ColumnOrder(), ("", "")
        self._drawn.clear()
        self.refresh()

    @property
    def on_screen(self) -> list[str]:
        """The keys of the visible rows."""
        top = self.scroll_offset.y
        return self.keys[top : top + self._body_height]

    def set_stale(self, stale: bool) -> None:
        """Dims the rows while their data is stale."""
        if stale != self.stale:
            self.stale = stale
            self.refresh()

    @property
    def current(self) -> str | None:
        """The key under the cursor; None if there is none or it was removed."""
        return self.cursor if self.keys[self._last_row : self._last_row + 1] == [self.cursor] else None

    def _row_of(self, key: str | None) -> int | None:
        """The row of a key; None if the grid has no such key. A mapping of all keys would take longer to build."""
        if key is None or key != self.current:
            return self.keys.index(key) if key in self.keys else None
        return self._last_row

    # Moving

    def go(self, key: str) -> None:
        """Moves the cursor to a key, if the grid has it."""
        if (row := self._row_of(key)) is not None:
            self._put(row, notify=True)

    def _put(self, row: int, notify: bool) -> None:
        if not self.keys:
            return
        row = min(max(row, 0), len(self.keys) - 1)
        changed = self.keys[row] != self.cursor
        self.cursor, self._last_row = self.keys[row], row
        self._into_view(row)
        self.refresh_changed()
        if changed and notify:
            self.post_message(self.Moved(self, self.cursor))

    def _into_view(self, row: int) -> None:
        height, top = self._body_height, self.scroll_offset.y
        if row < top:
            self.scroll_to(y=row, animate=False, force=True)
        elif height and row >= top + height:
            self.scroll_to(y=row - height + 1, animate=False, force=True)

    @property
    def _body_height(self) -> int:
        return max(1, self.scrollable_content_region.height - 1)

    def action_move(self, step: int) -> None:
        self._tell_beyond(step)
        if self.current is not None:
            self._put(self._last_row + step, notify=True)
        else:  # its key was removed: the first step leads to its former row
            self._put(self._last_row - (step < 0), notify=True)

    def _tell_beyond(self, step: int) -> None:
        if self.keys and self.cursor == self.keys[0 if step < 0 else -1]:
            self.post_message(self.Beyond(self, step))

    def action_page(self, step: int) -> None:
        self._tell_beyond(step)
        self._put(self._last_row + step * max(1, self._body_height - 1), notify=True)

    def action_edge(self, row: int) -> None:
        self._put(row % len(self.keys) if self.keys else 0, notify=True)

    def action_open(self) -> None:
        if self.current is not None:
            self.post_message(self.Opened(self, self.current))

    def on_click(self, event: events.Click) -> None:
        row = event.y - 1 + self.scroll_offset.y
        if event.y < 1 and (column := self._column_at(event.x)) is not None:
            if self.sortable:
                self.sort_by(self.column_order.then(column))
            self.post_message(self.HeadingClicked(self, column.key))
        if event.y < 1 or row >= len(self.keys):
            return
        self._put(row, notify=True)
        if event.chain == 2:
            self.action_open()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """At the end of the rows, the wheel moves beyond them, as the keys do."""
        self._wheel(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(-1)

    def _wheel(self, step: int) -> None:
        if self.keys and self.scroll_offset.y == (0 if step < 0 else self.max_scroll_y):
            self.post_message(self.Beyond(self, step))

    def _column_at(self, x: int) -> Column | None:
        """The column at this cell; None to the right of the last one."""
        end = self._gutter
        for column, size in self.arranged:
            end += size + GAP
            if x < end:
                return column if column.title else None
        return None

    def on_resize(self) -> None:
        self._arranged_for = -1
        self._drawn.clear()
        if self.current is not None:
            self._into_view(self._last_row)

    # Drawing

    def notify_style_update(self) -> None:
        self._styles.clear()
        self._strips.clear()
        super().notify_style_update()

    def _style(self, name: str) -> Style:
        if not name:
            return Style.null()
        if name not in self._styles:
            self._styles[name] = self.get_component_rich_style(name, partial=True)
        return self._styles[name]

    @property
    def _base(self) -> Style:
        """The base style, computed once rather than for each line."""
        if "" not in self._styles:
            self._styles[""] = self.rich_style
        return self._styles[""]

    @property
    def arranged(self) -> list[tuple[Column, int]]:
        """The visible columns and their widths."""
        self._arrange(self.scrollable_content_region.width)
        return self._arranged

    def _arrange(self, width: int) -> None:
        """Arranges the columns for this width, if they are not. Computing the width takes longer than a cell."""
        if self._arranged_for != width:
            self._arranged, self._arranged_for = arrange(self.columns, self._wanted, width - 1 - self._gutter), width
            self._arranged_wanted = self._wanted
            self._strips.clear()

    @property
    def _gutter(self) -> int:
        """The cells before the first column: one for the cursor, and one for marks if rows can be marked."""
        return 1 if self.marks is None else 2

    def render_line(self, y: int) -> Strip:
        width, base = self.scrollable_content_region.width, self._base
        self._arrange(width)
        if y == 0:
            return self._header(width, base)
        content = self._content(y)
        while len(self._drawn) < y:
            self._drawn.append(None)
        self._drawn[y - 1] = content
        row = y - 1 + self.scroll_offset.y
        if row >= len(self.keys):
            return Strip([Segment(fit(f" {content or ''}", width), base + self._style("grid--muted"))])
        look = (content, width, self.stale, self.has_focus)
        if look not in self._strips:
            if len(self._strips) > MAX_CACHED_STRIPS:
                self._strips.clear()
            self._strips[look] = self._line(self.keys[row], width, base)
        return self._strips[look]

    def _header(self, width: int, base: Style) -> Strip:
        self._drawn_order = self.sorted_by
        style = base + self._style("grid--header")
        gap = Segment(" " * GAP, style)
        segments = [Segment(" " * self._gutter, style)]
        for column, size in self._arranged:
            is_order = column.key == self.sorted_by[0]
            title = column.title + self.sorted_by[1] if is_order else column.title
            style = base + self._style("grid--accent") if is_order else style
            segments += [Segment(fit(title, size, column.right), style), gap]
        return Strip(segments).adjust_cell_length(width, style)

    def _line(self, key: str, width: int, base: Style) -> Strip:
        cursor = Style.null()
        if key == self.cursor:
            cursor = self._style("grid--cursor" if self.has_focus else "grid--cursor-blurred")
        fill = base + cursor
        cells = self._cells(key)
        mark = "▌" if key == self.cursor else " "  # visible without colours
        segments = [Segment(mark, fill + self._style("grid--muted"))]
        if self.marks is not None:
            segments.append(Segment(MARK if key in self.marks else " ", fill + self._style("grid--accent")))
        for column, size in self._arranged:
            cell = cells.get(column.key)
            text = fit(visible(cell.text), size, column.right, column.middle) if cell else " " * size
            style = self._style("grid--muted" if self.stale else cell.style if cell else "")
            if cell and cell.parts and not self.stale:
                segments += [*self._parts(cell.parts, text, base, cursor), Segment(" " * GAP, fill)]
            elif style.reverse:  # the words, not the rest of the cell
                words = text.rstrip()
                segments += [Segment(words, base + style + cursor), Segment(" " * (len(text) - len(words) + GAP), fill)]
            else:
                segments += [Segment(text, base + style + cursor), Segment(" " * GAP, fill)]
        return Strip(segments).adjust_cell_length(width, fill)

    def _parts(self, parts: Sequence[Cell], text: str, base: Style, cursor: Style) -> Iterator[Segment]:
        """The fitted text of a cell in the colours of its parts."""
        for part in parts:
            yield Segment(text[: len(part.text)], base + self._style(part.style) + cursor)
            text = text[len(part.text) :]
        yield Segment(text, base + cursor)


def _text(cell: Cell | None) -> str:
    if cell is None:
        return ""
    return states.without_glyph(cell.text) if cell.style in states.CLASSES.values() else cell.text.strip()
