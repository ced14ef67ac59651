"""Typed commands as logged operations: their curl commands show no secrets, and their result is one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.console.console_transports import InMemory
from tui.client.calls import ApiCall
from tui.commands.result import TargetOutcome
from tui.config.secrets import MASK
from tui.contexts.profiles import Profile
from tui.errors import BadRequest, NotFound
from tui.screens.operations.operation_runner import OperationRunner, summary
from tui.screens.services.connection import ClusterConnection
from tui.screens.services.operations import Operations
from tui.script.grammar import parse
from tui.wire.wrapper import ObservedTransport


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connector has no status to wait for."""
    monkeypatch.setenv("HEADRACE_SETTLE", "0s")


CONFIG = {"connector.class": "x.Y", "pin": "4711-old", "topics": "t"}


class Pins(InMemory):
    """The connector `a`, whose class defines a key of type PASSWORD."""

    def __init__(self, forbids: bool) -> None:
        self.forbids = forbids
        self.changes: list[ApiCall] = []

    async def send(self, call: ApiCall) -> Any:
        if call.changes:
            self.changes.append(call)
            return {}
        if call.path.startswith("/connectors?"):
            return {"a": {"status": {}, "info": {"name": "a", "config": CONFIG}}}
        answers: dict[str, Any] = {"/connectors": ["a"], "/connectors/a/config": CONFIG}
        if call.path == "/connector-plugins/x.Y/config":
            if self.forbids:
                raise BadRequest("forbidden", 403)
            return [{"name": "pin", "type": "PASSWORD"}]
        if call.path not in answers:
            raise NotFound("not found", 404)
        return answers[call.path]


@pytest.mark.parametrize("forbids", [False, True])
@pytest.mark.parametrize("line", ["apply -f NEW", "apply -f OLD", "patch connector a -s pin=4711"])
async def test_curl_commands_hide_values_of_type_password(line: str, forbids: bool, own_folders: Path) -> None:
    for file, name in (("NEW", "b"), ("OLD", "a")):
        (own_folders / file).write_text(json.dumps({"name": name, "config": {**CONFIG, "pin": "4711", "topics": "u"}}))
        line = line.replace(file, str(own_folders / file))
    cluster, connection = Pins(forbids), ClusterConnection(Profile("http://h:8083"))
    connection.transport = ObservedTransport(cluster, lambda: None)
    operations = Operations(lambda one: None)
    command = parse(line)
    assert command is not None
    result = await OperationRunner(connection, operations, lambda text, kind: None).run(command, "line")
    await connection.close()
    assert result is not None and "4711" in repr(cluster.changes)
    (operation,) = operations.log
    (curl,) = operation.curl("http://h:8083")
    assert "4711" not in curl and MASK in curl


def test_a_target_that_the_title_names_is_not_repeated() -> None:
    operation = Operations(lambda one: None).begin("restart task x/0", "", doing="doing")
    assert operation.title == "restart task x/0"
    assert summary((TargetOutcome("x/0", "restarted"),), operation.title) == "restarted"
    assert summary((TargetOutcome("x-1", "restarted"),), "restart x-*") == "x-1: restarted"


def test_several_targets_are_counted() -> None:
    outcomes = (TargetOutcome("a", "stopped"), TargetOutcome("b", "refused", 1))
    assert summary(outcomes, "stop a b") == "1 of 2 failed; b: refused"
