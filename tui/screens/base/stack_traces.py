"""Stack traces for reading: the root cause first, then the chain of causes, then each trace, shortened to fit."""

from __future__ import annotations

import re
from typing import NamedTuple

from textual.content import Content

from tui.causes import CAUSED, chain
from tui.model import Connector
from tui.widgets.text import visible, visible_lines

_FRAME = re.compile(
    r"^(\s+at )(?:[\w.]+/)?((?:[a-z_]\w*\.)+)([A-Z]\w*)((?:\$\w+)*\.[^(]*)\((?:\3\.java(?::(\d+))?|[^)]*)\)$"
)
_PYTHON = re.compile(r"^(\s+at )([\w<>.]+)\((.*/)?([^/]+:\d+)\)$")  # frames of Headrace's worker
FAILED = "FAILED"
Part = str | tuple[str, str]


class Trace(NamedTuple):
    """A trace of a connector: of `the connector` or of `task 0`."""

    heading: str
    state: str
    text: str

    @property
    def question(self) -> str:
        """`why task 0 failed`; a Headrace worker also reports why a task is UNASSIGNED."""
        return f"why {self.heading} failed" if self.state == FAILED else f"why {self.heading} is {self.state}"


def each(connector: Connector) -> list[Trace]:
    """The traces of a connector and its tasks."""
    own = Trace("the connector", connector.state, connector.trace)
    parts = [own, *(Trace(f"task {task.id}", task.state, task.trace) for task in connector.tasks)]
    return [part for part in parts if part.text]


def causes(connector: Connector) -> list[tuple[str, list[str]]]:
    """For each trace the question that it answers, and its root cause, then the exceptions that led to it, outermost
    first."""
    chains = [(part, list(map(visible, chain(part.text)))) for part in each(connector)]
    return [(part.question, [f"{_mark(part)} {way[-1]}", *_way(way)]) for part, way in chains]


def _mark(part: Trace) -> str:
    return "✗" if part.state == FAILED else "○"


def _way(chained: list[str]) -> list[str]:
    """The chain without the root cause, which is shown above it."""
    return [chained[0], *(f"↳ {line}" for line in chained[1:-1])] if len(chained) > 1 else []


def content(connector: Connector) -> Content:
    if not connector.traces:
        return Content.assemble(("no stack trace: nothing has failed", "$text-muted"))
    parts: list[Part] = []
    for question, why in causes(connector):
        parts += [(f"{question}\n", "bold $accent"), (f"{why[0]}\n", "bold $error")]
        parts += [(f"  {line}\n", "$error") for line in why[1:]]
    for part in each(connector):
        parts.append((f"\n{part.heading}: full trace (y copies it)\n", "bold $accent"))
        parts += styled(part.text)
    return Content.assemble(*parts)


def styled(trace: str) -> list[tuple[str, str]]:
    """The lines of a trace, shortened, with their styles."""
    return [_styled(line) for line in visible_lines(trace.rstrip())]


def _styled(line: str) -> tuple[str, str]:
    if line.startswith(CAUSED):
        return f"{line}\n", "bold"
    return f"{shortened(line)}\n", "$text-muted" if line.startswith("    at ") else ""


def shortened(line: str) -> str:
    """A Java frame with packages reduced to their first letters and without the file name; a Python frame without
    folders; other lines unchanged."""

    def short(match: re.Match[str]) -> str:
        packages = "".join(part[0] + "." for part in match[2].split(".")[:-1])
        number = f":{match[5]}" if match[5] else ""
        return visible(f"{match[1]}{packages}{match[3]}{match[4]}{number}")

    return _PYTHON.sub(r"\1\2 (\4)", _FRAME.sub(short, line)) if line.lstrip().startswith("at ") else line
