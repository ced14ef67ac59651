"""Verbs of the keys: when they apply, and the script lines that do the same."""

from __future__ import annotations

from typing import Any

from textual.binding import Binding

from tests.unit.tui.screens.builders import connector
from tui.commands.offsets.altering import PatchOffsets
from tui.commands.targets import matches
from tui.screens.home import Home
from tui.screens.operations.actions import ACTIONS, restart_of
from tui.script.grammar import parse


def test_keys_of_the_main_screen_are_those_of_the_commands() -> None:
    bound = {binding.action: binding.key for binding in Home.BINDINGS if isinstance(binding, Binding)}
    for name, action in ACTIONS.items():
        assert bound[f"act('{name}')"] == action.command.key
    assert bound["edit"] == PatchOffsets.key


def test_a_stopped_connector_cannot_be_paused() -> None:
    assert "is STOPPED" in ACTIONS["pause"].needs(connector("one", "STOPPED", ()))
    assert not ACTIONS["resume"].needs(connector("one", "STOPPED", ()))


def test_the_copied_script_line_selects_only_this_connector() -> None:
    for name in ("orders", "-tz", "--yes", "a b", "it's", "a*[x]", "ü"):
        for action in ACTIONS.values():
            command: Any = parse(action.script_line(connector(name)))
            assert command is not None
            assert matches(name, command.names) and not matches(name + "x", command.names)


def test_the_script_line_of_a_task_names_it() -> None:
    for name in ("orders", "-tz", "--yes", "a b", "it's", "a*[x]", "ü"):
        command: Any = parse(restart_of(1).script_line(connector(name)))
        assert command is not None and command.task == f"{name}/1"
    assert "is PAUSED" in restart_of(1).needs(connector("one", "PAUSED"))


def test_a_deletion_applies_only_to_the_connector_that_was_shown() -> None:
    delete, stop, shown = ACTIONS["delete"], ACTIONS["stop"], connector("one", "STOPPED", ())
    assert not delete.outdated(shown, connector("one", "STOPPED", ("FAILED",)))
    assert delete.outdated(shown, connector("one")) == "one is RUNNING now, not STOPPED"
    assert "created one again" in delete.outdated(shown, connector("one", "STOPPED", (), topics="other"))
    assert not stop.outdated(connector("one"), connector("one", "PAUSED", topics="other"))
    assert stop.outdated(connector("one"), shown) == "one is already STOPPED"
