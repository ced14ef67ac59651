"""The printer of scripts: failures are counted by target."""

from __future__ import annotations

import pytest

from tui.commands.result import TargetOutcome, confirmation
from tui.screens.operations.operation_runner import summary
from tui.script.runner import Printer


def test_failures_are_counted_by_connector(capsys: pytest.CaptureFixture[str]) -> None:
    one = [TargetOutcome("a", "would set p: 1 → 2"), TargetOutcome("a", "it is PAUSED", 4)]
    Printer().result(confirmation(one), None)
    assert capsys.readouterr().err == "a: would set p: 1 → 2\nheadrace: a: it is PAUSED\n"
    Printer().result(confirmation([*one, TargetOutcome("b", "no", 4), TargetOutcome("c", "done")]), None)
    assert "headrace: 2 of 3 failed\n" in capsys.readouterr().err
    assert summary(tuple(one)) == "a: it is PAUSED"
    assert summary((*one, TargetOutcome("b", "done"))) == "1 of 2 failed; a: it is PAUSED"
