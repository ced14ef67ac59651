"""The result of a typed command in one line."""

from __future__ import annotations

from tui.commands.result import TargetOutcome
from tui.screens.operations.operation_runner import summary
from tui.screens.services.operations import Operations


def test_a_target_that_the_title_names_is_not_repeated() -> None:
    operation = Operations(lambda one: None).begin("restart task x/0", "", doing="doing")
    assert operation.title == "restart task x/0"
    assert summary((TargetOutcome("x/0", "restarted"),), operation.title) == "restarted"
    assert summary((TargetOutcome("x-1", "restarted"),), "restart x-*") == "x-1: restarted"


def test_several_targets_are_counted() -> None:
    outcomes = (TargetOutcome("a", "stopped"), TargetOutcome("b", "refused", 1))
    assert summary(outcomes, "stop a b") == "1 of 2 failed; b: refused"
