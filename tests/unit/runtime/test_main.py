"""The runtime's commands: help, and errors in command lines."""

from __future__ import annotations

import pytest

from runtime.main import main


@pytest.mark.parametrize("words", [["worker", "--help"], ["doctor", "-h"]])
def test_help_is_printed(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    assert "headrace worker distributed FILE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["worker"], "usage: headrace worker"),
        (["worker", "distributed"], "the worker's properties file is missing"),
        (["plugin"], "usage: headrace plugin"),
        (["worker", "standalon", "w.properties"], "'standalon' is neither distributed nor standalone"),
    ],
)
def test_wrong_command_lines_are_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(("headrace worker: " + message, message))
