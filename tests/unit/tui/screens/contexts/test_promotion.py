"""A promotion's edits, its script line, and names that clash."""

from __future__ import annotations

from tui.screens.contexts.promotion import Promotion, clashes

SOURCE = {"name": "staging-a", "tasks.max": "1", "db.password": "s3cret", "topic": "t"}
MAPPED = {**SOURCE, "name": "a", "tasks.max": "4"}


def test_edits_are_kept_when_the_config_is_read_again() -> None:
    one = Promotion("staging-a", SOURCE, MAPPED)
    one.edit({"name": "b", "tasks.max": "8", "db.password": "s3cret"})
    one.source, one.mapped = {**SOURCE, "new": "x"}, {**MAPPED, "new": "x"}
    assert one.config == {"name": "b", "tasks.max": "8", "db.password": "s3cret", "new": "x"}
    assert one.target_name == "b"


def test_the_script_line_does_the_same() -> None:
    one = Promotion("staging-a", SOURCE, MAPPED)
    assert one.script_line("prod", "STOPPED") == "promote staging-a --to prod"
    one.edit({**MAPPED, "name": "b", "tasks.max": "8 or 9"} | {"topic": "t"})
    line = "promote staging-a --to prod --as b -s 'tasks.max=8 or 9' --state PAUSED"
    assert one.script_line("prod", "PAUSED") == line
    one.passwords = frozenset({"pin"})
    one.edit({**MAPPED, "name": "staging-a", "db.password": "new", "pin": "1234", "tasks.max": "4"})
    shown = "promote staging-a --to prod -s 'db.password=********' --as staging-a -s 'pin=********'"
    assert one.script_line("prod", "STOPPED") == shown, "secrets are masked"


def test_an_edit_forgets_the_result_of_an_earlier_attempt() -> None:
    one = Promotion("staging-a", SOURCE, MAPPED, outcome="refused", failed=True)
    one.edit(MAPPED)
    assert not one.failed and one.text == "" and one.word == "…"


def test_two_connectors_of_one_name_are_refused() -> None:
    first = Promotion("staging-a", SOURCE, MAPPED)
    second = Promotion("a", {**SOURCE, "name": "a"}, MAPPED)
    assert clashes([first, second]) == {"a": "staging-a would also be a: e changes the name"}
