"""The editor of a config as JSON or key=value, with problems marked in their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType

from tui.config.text import ConfigFormat
from tui.editor.checks import Problem, Severity
from tui.widgets.jsontext import CommandEditor, tokens
from tui.widgets.text import visible

_PROPERTY = re.compile(r"\s*(?P<key>(?:\\.|[^=:\s\\])+)(?P<sign>\s*[=:\s]\s*)(?P<value>.*)")


class ConfigEditor(CommandEditor):
    """Colours JSON or key=value, and marks all problems."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"json--warning"}
    DEFAULT_CSS = """
    ConfigEditor > .json--warning { color: $warning; text-style: underline; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("f3,ctrl+t", "convert", "JSON/key=value", key_display="F3")]

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.form = ConfigFormat.JSON
        self.problems: dict[int, Problem] = {}  # by line, counted from 0

    def mark_all(self, problems: Sequence[Problem]) -> None:
        by_line = {problem.place.line - 1: problem for problem in reversed(problems) if problem.place.line}
        if by_line != self.problems:
            self.problems = by_line
            self.notify_style_update()
            self.refresh()

    def get_line(self, line_index: int) -> Text:
        raw = self.document.get_line(line_index)
        line = Text(visible(raw), end="", no_wrap=True)
        for start, end, kind in tokens(raw) if self.form is ConfigFormat.JSON else _properties(raw):
            line.stylize(self._style(f"json--{kind}"), start, end)
        if (problem := self.problems.get(line_index)) is not None:
            name = "json--error" if problem.severity is Severity.ERROR else "json--warning"
            start = min(problem.place.column - 1, max(0, len(raw) - 1))
            line.stylize(self._style(name), start, len(raw.rstrip(", \t")) or 1)
        return line

    def action_convert(self) -> None:
        self.post_message(self.Command("convert"))


def _properties(line: str) -> Iterator[tuple[int, int, str]]:
    if line.lstrip()[:1] in ("#", "!"):
        yield 0, len(line), "literal"
    elif match := _PROPERTY.match(line):
        yield *match.span("key"), "key"
        yield *match.span("value"), "string"
