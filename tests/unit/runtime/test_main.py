"""The runtime's commands: help, and errors in command lines."""

from __future__ import annotations

import pytest

from runtime.main import main


@pytest.mark.parametrize(
    ("words", "usage"),
    [
        (["worker", "--help"], "usage: headrace worker distributed FILE"),
        (["worker", "distributed", "-h"], "usage: headrace worker distributed FILE"),
        (["doctor", "-h"], "usage: headrace doctor [--config FILE"),
        (["migrate", "-h"], "usage: headrace migrate check FILE"),
    ],
)
def test_help_is_printed(words: list[str], usage: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    assert capsys.readouterr().out.startswith(usage)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["worker"], "usage: headrace worker"),
        (["worker", "distributed"], "the worker's properties file is missing"),
        (["plugin"], "usage: headrace plugin"),
        (["doctor", "all"], "usage: headrace doctor"),
        (["migrate", "check"], "usage: headrace migrate check"),
        (["worker", "standalon", "w.properties"], "'standalon' is neither distributed nor standalone"),
    ],
)
def test_wrong_command_lines_are_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(("headrace worker: " + message, message))
