"""A terminal that counts keys, and the numbers of keys in docs/jobs.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.console.terminal import Terminal

PAGE = Path(__file__).parents[3] / "docs" / "jobs.md"
_ROW = re.compile(r"^\| (?P<job>[a-z][\w ,-]*) \| (?P<keys>\d+) \|", re.MULTILINE)


class CountedTerminal(Terminal):
    """Each key counts, those of typed texts too."""

    keys = 0

    def press(self, *keys: str) -> None:
        self.keys += len(keys)
        super().press(*keys)


def documented() -> dict[str, int]:
    """Jobs and their keys, in the order of the page."""
    return {row["job"]: int(row["keys"]) for row in _ROW.finditer(PAGE.read_text("utf-8"))}


@contextmanager
def job(name: str, *arguments: str) -> Iterator[CountedTerminal]:
    """`headrace ARGUMENTS` at 80x24 for a job, which must take as many keys as the page says."""
    terminal = CountedTerminal(*arguments)
    with terminal:
        yield terminal
        check(name, terminal.keys)


def check(name: str, keys: int) -> None:
    assert documented()[name] == keys, f"{PAGE.name}: {name!r} takes {keys} keys"
