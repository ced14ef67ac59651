"""Scripts are given a remedy that helps: -n or --scan do not raise the limits of bytes and time."""

from __future__ import annotations

import pytest

from tui.commands.cluster.dead_letters import report_rest
from tui.commands.cluster.records import why_cut
from tui.commands.context import CommandTerminal
from tui.dead_letters.brokers import DeadLetterWindow
from tui.topics.page_scan import ReadLimits
from tui.topics.records import RecordPage


@pytest.mark.parametrize(
    ("is_cut", "remedy"),
    [(False, "-n reads more"), (True, "the rest exceeds the limit of 16 MiB or 10 s: the screen reads older ones")],
)
def test_older_dead_letters(is_cut: bool, remedy: str) -> None:
    texts = list[str]()
    terminal = CommandTerminal(texts.append, lambda question: True)
    report_rest(terminal, DeadLetterWindow((), {0: 90}, {0: 0}, {0: 100}, is_cut))
    assert texts == [f"read the newest 0 of 100; {remedy}"]


@pytest.mark.parametrize(("scanned", "remedy"), [(500, "use --scan to read more"), (20, "up to the limit of 16 MiB")])
def test_a_page_of_records(scanned: int, remedy: str) -> None:
    page = RecordPage((), {0: 0}, {0: 20}, {0: 0}, {0: 900}, scanned, is_cut=True)
    assert remedy in why_cut(page, ReadLimits(50, scanned=500, seconds=60))
