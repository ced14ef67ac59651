"""The bars of a screen: title, counters, status and keys."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.binding import ActiveBinding
from textual.color import Color
from textual.content import Content
from textual.widget import Widget

from tui.cluster.snapshot import ClusterLink, LinkState
from tui.contexts.profiles import Profile
from tui.formatting import counted
from tui.model import SEVERITY
from tui.widgets import states
from tui.widgets.text import fit, visible

EMPTY = Content("")
MAX_STATUS_LINES = 4
UNREAD = 10.0  # seconds in which an error is not replaced by a note about a key without effect
SHORT_LINK = 20  # cells of the connection state, to which a reason is cut before the name of the context
FOLDING_LOSS = 8  # cells of a line that folding between words leaves empty, on average


class Bar(Widget):
    """A line with content on the left and right; redrawn only when it changes."""

    DEFAULT_CSS = "Bar { height: 1; width: 1fr; }"

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.content, self.end = EMPTY, EMPTY

    def put(self, content: Content, end: Content = EMPTY) -> None:
        """Sets the content on the left and, with `end`, on the right."""
        if not (_same(content, self.content) and _same(end, self.end)):
            self.content, self.end = content, end
            self.refresh()

    def render(self) -> Content:
        """The line, cut with an ellipsis if necessary; texts of bars with several lines are folded."""
        width = self.content_size.width
        if self.end:
            return joined(self.content, self.end, width)
        if self.styles.height is not None and self.styles.height.is_auto:
            return self.content
        return self.content.truncate(width, ellipsis=True) if self.content.cell_length > width else self.content


def _same(part: Content, other: Content) -> bool:
    return part.plain == other.plain and part.spans == other.spans


def joined(left: Content, right: Content, width: int) -> Content:
    """Left and right content in `width` cells; the left one is truncated if necessary."""
    room = max(0, width - right.cell_length - 1)
    if left.cell_length > room:
        left = left.truncate(room, ellipsis=True)
    return Content.assemble(left, " " * max(1, width - left.cell_length - right.cell_length), right)


class TitleBar(Bar):
    """The cluster, and the age of the displayed data."""

    DEFAULT_CSS = """
    TitleBar { background: $surface; color: $foreground; padding: 0 1; }
    TitleBar.-production { background: $error; color: $on-accent; text-style: bold; }
    """

    def __init__(self, profile: Profile, id: str | None = None) -> None:
        super().__init__(id)
        self.profile, self.link, self.version, self.now = profile, ClusterLink(), "", 0.0
        self.set_class(profile.production, "-production")

    def set_link(self, link: ClusterLink, now: float, version: str = "") -> None:
        """Sets the state of the connection at the time `now` (epoch seconds)."""
        self.link, self.now, self.version = link, now, version or self.version
        self.draw()

    def on_mount(self) -> None:
        """Applies the context's colour, with readable text on it."""
        if self.profile.colour:
            paper = Color.parse(self.profile.colour)
            self.styles.background, self.styles.color = paper, paper.get_contrast_text(1.0)

    @property
    def _is_coloured(self) -> bool:
        """Whether the theme's text colours could be unreadable."""
        return self.profile.production or bool(self.profile.colour)

    def draw(self) -> None:
        """Updates the bar."""
        version = f"  Connect {visible(self.version)}" if self.version else ""
        self.put(self._left(visible(self.profile.label), version), self.freshness())

    def render(self) -> Content:
        """The version is left out, then the reason for polling and the name are cut, before any mark of the context is
        lost."""
        width, label = self.content_size.width, visible(self.profile.label)
        if self.content.cell_length + 1 + self.end.cell_length <= width:
            return super().render()
        end, marks = self.end, self._left("", "").cell_length
        if self.link.state is LinkState.POLLING:
            end = end.truncate(max(SHORT_LINK, width - marks - cell_len(label) - 1), ellipsis=True)
        shown = width - end.cell_length - 1 - marks
        left = self._left(fit(label, shown, middle=True).rstrip() if cell_len(label) > shown else label, "")
        return joined(left, end, width)

    def _left(self, label: str, version: str) -> Content:
        is_coloured = self._is_coloured
        parts: list[str | tuple[str, str]] = [("headrace", "bold" if is_coloured else "bold $accent"), "  ", label]
        if version:
            parts.append((version, "" if is_coloured else "$text-muted"))
        if self.profile.production:
            parts.append("  PRODUCTION")
        if self.profile.read_only:
            parts.append(("  READ-ONLY", "bold" if is_coloured else "bold $warning"))
        return Content.assemble(*parts)

    def freshness(self) -> Content:
        """The connection state in short; the counters' bar shows the error."""
        style = "" if self._is_coloured else self._style
        glyph = {LinkState.LIVE: "● ", LinkState.POLLING: "● ", LinkState.LOST: "✗ "}.get(self.link.state, "○ ")
        text = self.link.text(self.now)
        if self.link.state is LinkState.LOST:
            text = text.removesuffix(f": {self.link.trouble}")
        return Content.assemble((glyph + visible(text), style))

    @property
    def _style(self) -> str:
        polling = "$warning" if self.link.trouble else "$success"
        live = "$warning" if self.link.is_silent(self.now) else "$success"
        styles = {LinkState.LIVE: live, LinkState.POLLING: polling, LinkState.LOST: "bold $error"}
        return styles.get(self.link.state, "$text-muted")


class ListCounts(NamedTuple):
    """The filter of the list, and the number of filtered and marked rows."""

    filter: str = ""
    rows: int = 0
    marked: int = 0


FIRST_COUNT = 8  # cells of `✗ 1,234…`


class Counters(Bar):
    """The number of connectors by state, failures first."""

    short = EMPTY  # the numbers without the names of the states

    DEFAULT_CSS = """
    Counters { padding: 0 1; }
    Counters.-trouble { height: auto; max-height: 4; }
    """

    def set_counts(self, counts: Counter[str], link: ClusterLink, shown: ListCounts) -> None:
        """Sets the counts, or the connection's error while the cluster is unreachable."""
        total = sum(counts.values())
        self.short = EMPTY
        self.set_class(link.state is LinkState.LOST, "-trouble")
        if link.state is LinkState.LOST:
            away = link.trouble.startswith("cannot reach ")
            trouble = visible(link.trouble.removeprefix("cannot reach "))
            self.put(Content.assemble(("unreachable: " if away else "stale: ", "bold $error"), (trouble, "$error")))
            self.refresh(layout=True)
            return
        if link.state is LinkState.CONNECTING:
            self.put(Content.assemble(("connecting…", "$text-muted")))
            return
        states_shown = [state for state in (*SEVERITY, *sorted(counts.keys() - set(SEVERITY))) if counts[state]]
        numbers = [(f"{states.glyph(state)} {counts[state]:,}", states.style(state)) for state in states_shown]
        words = [(f"{text} {state.lower()}", style) for state, (text, style) in zip(states_shown, numbers, strict=True)]
        self.short = Content("  ").join(Content.assemble(number) for number in numbers)
        self.put(Content("   ").join(Content.assemble(word) for word in words), self._right(total, shown))

    def render(self) -> Content:
        """Without the names of the states where these do not fit; a long filter leaves room for the first number."""
        width = self.content_size.width
        if self.short and self.content.cell_length + 2 + self.end.cell_length > width:
            room = max(0, width - min(self.short.cell_length, FIRST_COUNT) - 1)
            end = self.end if self.end.cell_length <= room else self.end.truncate(room, ellipsis=True)
            return joined(self.short, end, width)
        return super().render()

    def _right(self, total: int, shown: ListCounts) -> Content:
        marked = f"{shown.marked:,} marked  " if shown.marked else ""
        words = counted(total, "connector") if total else ""
        if shown.filter:
            words = f"{shown.rows:,} of {words} by /{visible(shown.filter)}"
        return Content.assemble((marked, "bold $accent"), (words, "$text-muted"))


class StatusBar(Bar):
    """The last message, in up to four lines."""

    DEFAULT_CSS = """
    StatusBar { height: auto; min-height: 1; max-height: 4; padding: 0 1; }
    """
    STYLES: ClassVar[dict[str, str]] = {
        "info": "$foreground",
        "good": "$success",
        "warn": "$warning",
        "bad": "$error",
        "busy": "$accent",
    }

    error_at = -math.inf  # when the last error was reported, on the monotonic clock, if it is still shown

    @property
    def shows_new_error(self) -> bool:
        """Whether the message is an error that may not have been read yet."""
        return time.monotonic() - self.error_at < UNREAD

    @property
    def room(self) -> int:
        """The cells of the longest message that is not cut."""
        return MAX_STATUS_LINES * (self.content_size.width - FOLDING_LOSS)

    def report(self, text: str, kind: str = "info") -> None:
        """Shows a message of one of the kinds in INKS. If it is too long, its middle is left out: the advice is at its
        end."""
        self.error_at = time.monotonic() if kind == "bad" else -math.inf
        glyph = {"good": "✓ ", "warn": "! ", "bad": "✗ ", "busy": "… "}.get(kind, "")
        shown = visible(text)
        if self.content_size.width and cell_len(shown) > self.room:
            shown = fit(shown, self.room, middle=True)
        self.put(Content.assemble((glyph + shown, self.STYLES[kind])) if text else Content(""))
        self.refresh(layout=True)


ENDS = ("quit", "help")  # actions whose keys are always shown, at the end
GAP = "  "
KeyPart = tuple[ActiveBinding, Content]
NARROW, LEAST_HEIGHT = 80, 18  # the size of a screen with two lines of keys: fewer columns, as many lines


class KeyBar(Bar):
    """The active key bindings of the focused widget and its parents; those that are unavailable on this screen are
    grey. Where there is room, bindings with `show=False` and a tooltip follow. Narrow screens have a second line for
    keys that do not fit into the first. A click on a key presses it."""

    DEFAULT_CSS = "KeyBar { height: auto; min-height: 1; max-height: 2; background: $surface; padding: 0 1; }"

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id)
        self._lines: list[list[KeyPart]] = []
        self._width = 0
        self._has_two = False  # until the width changes, so that a moving cursor does not move the lines above

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.draw())
        self.draw()

    def on_resize(self) -> None:
        if self.content_size.width != self._width:
            self._width, self._has_two = self.content_size.width, False
        self.draw()

    def draw(self) -> None:
        """Updates the bar."""
        if self.screen.is_current:
            count = len(self._lines)
            self.put(self.line(self._useful(), self.content_size.width))
            if len(self._lines) != count:
                self.refresh(layout=True)

    def _useful(self) -> list[ActiveBinding]:
        """The effective bindings: neither consumed by a text field nor idle on this screen. Those that are shown only
        where there is room come last."""
        seen: set[str] = set()
        useful = []
        focused = self.screen.focused  # not that of a dialog over this screen
        idle = getattr(self.screen, "is_idle", None)
        for active in self.screen.active_bindings.values():
            binding = active.binding
            shown = self.app.get_key_display(binding)
            consumed = focused is not None and len(shown) == 1 and focused.check_consume_key(shown, shown)
            if not (binding.show or active.tooltip) or not active.enabled or consumed or binding.action in seen:
                continue
            if idle is None or not idle(binding.action):
                seen.add(binding.action)
                useful.append(active)
        first = getattr(self.screen, "is_foremost", None) or (lambda action: False)
        return sorted(useful, key=lambda active: (not first(active.binding.action), not active.binding.show))

    def line(self, keys: Sequence[ActiveBinding], width: int) -> Content:
        """As many keys as fit, always with those at the end: how to quit, and the help, which lists all."""
        parts = [(active, self._part(active)) for active in keys]
        others = [part for part in parts if part[0].binding.action not in ENDS]
        ends = [part for action in ENDS for part in parts if part[0].binding.action == action]
        room = width - sum(text.cell_length + len(GAP) for _, text in ends)
        count = _fitting(others, room)
        if self._has_two or (count < sum(part[0].binding.show for part in others) and self._has_room_for_two):
            self._has_two = True
            count = _fitting(others, width)
            self._lines = [others[:count], [*others[count:][: _fitting(others[count:], room)], *ends]]
        else:
            self._lines = [[*others[:count], *ends]]
        return Content("\n").join([Content(GAP).join([text for _, text in line]) for line in self._lines])

    @property
    def _has_room_for_two(self) -> bool:
        return self.app.size.width < NARROW and self.app.size.height >= LEAST_HEIGHT

    def _part(self, active: ActiveBinding) -> Content:
        key = self.app.get_key_display(active.binding)
        unavailable = getattr(self.screen, "unavailable", None)
        if unavailable is not None and unavailable(active.binding.action):
            return Content.assemble((f"{key} {active.binding.description}", "$text-disabled"))
        return Content.assemble((key, "bold $accent"), (f" {active.binding.description}", "$text-muted"))

    def on_click(self, event: events.Click) -> None:
        """Presses the key under the mouse."""
        end = 1  # the padding
        for active, text in self._lines[event.y] if event.y < len(self._lines) else ():
            start, end = end, end + text.cell_length
            if start <= event.x < end:
                self.app.simulate_key(active.binding.key)
                return
            end += len(GAP)


def _fitting(parts: Sequence[KeyPart], room: int) -> int:
    """The number of parts that fit into `room` cells."""
    end = -len(GAP)
    for count, (_, text) in enumerate(parts):
        end += text.cell_length + len(GAP)
        if end > room:
            return count
    return len(parts)
