"""Own commands of `config.toml`: places in their arguments, and invalid ones."""

from __future__ import annotations

import pytest

from tui.appearance.own_commands import parse, variables


def test_values_are_replaced_in_arguments_and_interpreted_by_no_shell() -> None:
    (command,), problems = parse([{"key": "g", "run": "show --of={name} '{topic} at {url}' {else} {"}])
    values = {"name": "a b; $(rm) {url}", "topic": "t", "url": "http://x"}
    assert not problems
    assert command.filled(values) == ["show", "--of=a b; $(rm) {url}", "t at http://x", "{else}", "{"]
    assert command.name == "show --of={name} '{topic} at {url}' {else} {" and not command.terminal
    assert variables({"name": "a"}) == {"HEADRACE_NAME": "a"}


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"key": "g"}, "expected key and run"),
        ("g", "expected key and run"),
        ({"key": "ctrl+g", "run": "x"}, "key must be a letter or a digit, not 'ctrl+g'"),
        ({"key": "g", "run": "x '"}, "run of 'g'"),
        ({"key": "g", "run": " "}, "run of 'g' is empty"),
        ({"key": "g", "run": "x", "shell": True}, "unknown shell"),
        ({"key": "g", "run": "/bin/sh -c 'echo {name}'"}, "use $HEADRACE_NAME instead of {name}"),
    ],
)
def test_invalid_commands(table: object, problem: str) -> None:
    commands, problems = parse([table])
    assert not commands and problem in problems[0]


def test_a_key_is_used_once() -> None:
    commands, problems = parse([{"key": "g", "run": "a"}, {"key": "g", "run": "b"}])
    assert len(commands) == 1 and "twice" in problems[0]
