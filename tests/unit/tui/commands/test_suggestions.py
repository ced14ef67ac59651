"""Similar names for unknown ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.console.command_context import run_command
from tests.support.console.console_transports import InMemory
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.commands.result import Result
from tui.contexts.profiles import Profile
from tui.errors import NotFound, UsageError
from tui.formatting import did_you_mean
from tui.script.grammar import parse


def test_similar_names() -> None:
    known = ["orders-sink", "Orders-Source", "stock"]
    assert did_you_mean("ordres-sink", known) == "did you mean orders-sink?"
    assert did_you_mean("orders-sorce", known) == "did you mean Orders-Source?"
    assert did_you_mean("xyz", known) == "" and did_you_mean("x", ()) == ""


def test_an_unknown_option_is_answered_with_a_similar_one() -> None:
    with pytest.raises(UsageError, match=r"unknown option --dryrun.*did you mean --dry-run"):
        parse("stop a --dryrun")
    with pytest.raises(UsageError, match=r"unknown option --xyz \(usage: stop connector"):
        parse("stop a --xyz")


class Worker(InMemory):
    """A worker with the connectors audit-0 and audit-5, and without histories."""

    async def send(self, call: ApiCall) -> Any:
        if call.path == "/connectors":
            return ["audit-0", "audit-5"]
        if call.path == "/connectors/audit-0/config":
            return {"connector.class": "a.B"}
        raise NotFound("Unknown task: audit-0-9" if "tasks" in call.path else "Connector nosuch not found", 404)


def run(line: str) -> Result:
    return run_command(line, Connect(Worker()), Profile(Worker.url, "memory"))


def test_an_unknown_task_of_a_known_connector_suggests_no_other_connector() -> None:
    assert "did you mean" not in run("restart task audit-0/9 --settle 0s").outcomes[0].message
    assert "did you mean audit-" in run("restart task audit-6/0 --settle 0s").outcomes[0].message


@pytest.mark.parametrize("what", ["config history", "offset history"])
def test_a_history_of_an_unknown_connector_is_not_an_empty_one(what: str, own_folders: Path) -> None:
    assert run(f"get {what} audit-0").exit_code == 0
    with pytest.raises(NotFound, match="nosuch not found"):
        run(f"get {what} nosuch")
