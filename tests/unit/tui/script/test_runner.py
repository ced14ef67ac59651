"""The printer of scripts: failures are counted by target."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import yaml

from tui.commands.result import TargetOutcome, confirmation
from tui.errors import NotFound
from tui.screens.operations.operation_runner import summary
from tui.script.runner import Printer


def read_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_failures_are_counted_by_connector(capsys: pytest.CaptureFixture[str]) -> None:
    one = [TargetOutcome("a", "would set p: 1 → 2"), TargetOutcome("a", "it is PAUSED", 4)]
    Printer().result(confirmation(one), None)
    assert capsys.readouterr().err == "a: would set p: 1 → 2\nheadrace: a: it is PAUSED\n"
    Printer().result(confirmation([*one, TargetOutcome("b", "no", 4), TargetOutcome("c", "done")]), None)
    assert "headrace: 2 of 3 failed\n" in capsys.readouterr().err
    assert summary(tuple(one)) == "a: it is PAUSED"
    assert summary((*one, TargetOutcome("b", "done"))) == "1 of 2 failed; a: it is PAUSED"


def test_an_error_is_data_in_the_formats_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer()
    error = NotFound("Connector a not found", 404, "did you mean b?")
    error.subject = "a"
    for form, text in {
        "jsonl": '{"name":"a","error":"Connector a not found","advice":"did you mean b?"}\n',
        "json": '{"name":"a","error":"Connector a not found","advice":"did you mean b?"}\n',
        "yaml": "---\nname: a\nerror: Connector a not found\nadvice: did you mean b?\n",
        "name": "",
        "table": "",
    }.items():
        printer.error(error, form=form)
        out, err = capsys.readouterr()
        assert out == text and err == "headrace: a: Connector a not found (did you mean b?)\n"
    assert printer.exit_code == 3


@pytest.mark.parametrize(("form", "read"), [("json", read_lines), ("jsonl", read_lines), ("yaml", yaml.safe_load_all)])
def test_items_and_the_error_that_ends_them_are_one_stream(
    capsys: pytest.CaptureFixture[str], form: str, read: Callable[[str], Iterable[Any]]
) -> None:
    printer = Printer()
    for name in ("a", "b"):
        printer.item({"connector": name}, form, [name])
    printer.error(NotFound("no", 404), form=form)
    assert list(read(capsys.readouterr().out)) == [{"connector": "a"}, {"connector": "b"}, {"error": "no"}]
