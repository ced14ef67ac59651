"""What the runtime's verbs say to a command line that lacks something."""

from __future__ import annotations

import pytest

from runtime.main import main


@pytest.mark.parametrize("words", [["worker", "--help"], ["doctor", "-h"]])
def test_help_is_asked_for(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    assert "headrace worker distributed FILE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["worker"], "usage: headrace worker"),
        (["worker", "distributed"], "the worker's properties file is missing"),
        (["worker", "standalon", "w.properties"], "'standalon' is neither distributed nor standalone"),
    ],
)
def test_what_is_missing_is_named(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(("headrace worker: " + said, said))
