"""Folding of help to the terminal's width, between words and options, with indented continuation lines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from tui.commands.helping import explain, overview
from tui.commands.registry import commands
from tui.script.folding import folded


@pytest.mark.parametrize("width", [74, 80, 120])
def test_folded_help_fits_and_is_complete(width: int) -> None:
    for text in [overview(), *(explain(tuple(command.verb.split())) for command in commands())]:
        shown = folded(text, width)
        assert max(map(len, shown.split("\n"))) <= width
        assert "".join(shown.split()) == "".join(text.split())


def test_continuation_lines_are_indented() -> None:
    assert folded("stop NAME… [--wait] [-o FORMAT]", 24) == "stop NAME… [--wait]\n    [-o FORMAT]"
    assert folded("  --to WHEN  earliest or latest", 22) == "  --to WHEN  earliest\n" + " " * 13 + "or latest"
    assert folded("A sentence of a few words.", 20) == "A sentence of a few\nwords."
    assert folded("x" * 30, 20) == "x" * 30 and folded("", 20) == ""


def test_help_is_folded_to_the_width_of_the_terminal() -> None:
    command = [str(Path(sys.executable).parent / "headrace"), "-c", "help patch offsets"]
    shown = pexpect.spawn(command[0], command[1:], dimensions=(24, 70), encoding="utf-8", timeout=60).read()
    assert "    [--kafka-partition N] [--kafka-offset N|null] [--to WHEN]" in shown.splitlines()
    piped = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert "[-o FORMAT]" in piped.splitlines()[0], "lines are not folded, for grep"
