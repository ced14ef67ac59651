"""`get failures` and `restart failures`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.console.command_context import run_command
from tests.unit.tui.scripted import Scripted, expanded, status
from tui.client.client import Connect
from tui.commands.result import Result
from tui.contexts.profiles import Profile
from tui.errors import HeadraceError, NotFound


def cluster() -> Scripted:
    first, second = status("a", tasks=("FAILED", "RUNNING")), status("b", "FAILED", ("FAILED",))
    first["tasks"][0]["trace"] = second["tasks"][0]["trace"] = "x.E: oops\nCaused by: x.Cause: disk full"
    second["connector"]["trace"] = "x.ConfigException: no topic"
    return Scripted(expanded(first, second, status("c")))


def run(line: str, scripted: Scripted, **more: Any) -> Result:
    return run_command(line, Connect(scripted), Profile("http://x"), **more)


def test_failures_by_cause() -> None:
    result = run("get failures", cluster())
    assert result.table is not None
    assert result.table.rows == ((2, 2, "Cause: disk full", "a/0 b/0"), (1, 1, "ConfigException: no topic", "b"))
    assert result.names == ("a/0", "b/0", "b")
    assert result.raw[0]["failures"][0] | {"trace": ""} == {
        "connector": "a", "task": 0, "worker": "w:1", "cause": "Cause: disk full", "trace": ""
    }  # fmt: skip


def test_those_with_a_cause_are_restarted() -> None:
    scripted = cluster()
    result = run("restart failures --cause DISK --settle 0s", scripted)
    assert [outcome.name for outcome in result.outcomes] == ["a/0", "b/0"]
    sent = [(call.method, call.path) for call in scripted.calls if call.method == "POST"]
    assert sent == [("POST", "/connectors/a/tasks/0/restart"), ("POST", "/connectors/b/tasks/0/restart")]


def test_a_connector_that_failed_itself_is_restarted_without_its_tasks() -> None:
    scripted = cluster()
    run("restart failures b --cause topic --settle 0s", scripted)
    assert [call.path for call in scripted.calls if call.method == "POST"] == ["/connectors/b/restart"]


def test_nothing_is_sent_without_a_failure_or_a_confirmation_or_in_a_dry_run() -> None:
    scripted = cluster()
    with pytest.raises(NotFound, match="nothing has failed with this cause"):
        run("restart failures --cause nowhere", scripted)
    with pytest.raises(HeadraceError, match="not confirmed"):
        run("restart failures", scripted, confirm=lambda question: False)
    assert len(run("restart failures --dry-run", scripted).outcomes) == 3
    assert all(call.method == "GET" for call in scripted.calls)
