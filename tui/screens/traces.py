"""Stack traces for people in a hurry: the causes first, then the frames, shortened to fit a line."""

from __future__ import annotations

import re

from textual.content import Content

from tui.model import Connector
from tui.widgets.text import visible, visible_lines

_FRAME = re.compile(
    r"^(\s+at )(?:[\w.]+/)?((?:[a-z_]\w*\.)+)([A-Z]\w*)((?:\$\w+)*\.[^(]*)\((?:\3\.java(?::(\d+))?|[^)]*)\)$"
)
_CAUSED = "Caused by: "


def each(one: Connector) -> list[tuple[str, str]]:
    """`connector` or `task 0`, and its trace."""
    parts = [("the connector", one.trace), *((f"task {task.id}", task.trace) for task in one.tasks)]
    return [(heading, trace) for heading, trace in parts if trace]


def causes(one: Connector) -> list[tuple[str, list[str]]]:
    """Of each trace its first line and what caused it, down to the root."""
    return [(heading, _causes(trace)) for heading, trace in each(one)]


def _causes(trace: str) -> list[str]:
    lines = visible_lines(trace)
    return [*lines[:1], *(f"↳ {line.removeprefix(_CAUSED)}" for line in lines[1:] if line.startswith(_CAUSED))]


def content(one: Connector) -> Content:
    if not one.traces:
        return Content.assemble(("no trace: nothing failed", "$text-muted"))
    parts: list[str | tuple[str, str]] = []
    for heading, trace in each(one):
        parts.append((f"why {heading} failed\n", "bold $accent"))
        parts += [(f"{line}\n", "$error") for line in _causes(trace)]
        parts.append((f"\n{heading}\n", "bold $accent"))
        parts += [_styled(line) for line in visible_lines(trace.rstrip())]
        parts.append("\n")
    return Content.assemble(*parts)


def _styled(line: str) -> tuple[str, str]:
    if line.startswith(_CAUSED):
        return f"{line}\n", "bold"
    return f"{shortened(line)}\n", "$text-muted" if line.startswith("    at ") else ""


def shortened(line: str) -> str:
    """A Java frame with its packages by their first letters and the file's name not said twice; others as they are."""

    def short(match: re.Match[str]) -> str:
        packages = "".join(part[0] + "." for part in match[2].split(".")[:-1])
        number = f":{match[5]}" if match[5] else ""
        return visible(f"{match[1]}{packages}{match[3]}{match[4]}{number}")

    return _FRAME.sub(short, line)
