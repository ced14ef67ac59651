"""`promote` and `undo delete` on clusters in memory: names that collide, --read-only, offsets of another connector."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.console_transports import InMemory
from tui.client.calls import ApiCall, drive
from tui.client.client import Connect
from tui.commands.base import CommandContext, execute
from tui.commands.result import Result
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.policy import guard
from tui.contexts.profiles import Profile
from tui.errors import NotFound, ReadOnly, UsageError
from tui.script.grammar import parse

Json = Any
CONFIG = {"connector.class": "x.Y", "topics": "t"}
OFFSET = {"partition": {"f": "x"}, "offset": {"p": 5}}


class MemoryCluster(InMemory):
    """Connectors, and answers to further requests by path."""

    def __init__(self, *names: str, **answers: Json) -> None:
        self.connectors = {name: {**CONFIG, "name": name} for name in names}
        self.answers = {f"/{path}": answer for path, answer in answers.items()}
        self.changes: list[Json] = []

    async def send(self, call: ApiCall) -> Json:
        path = call.path.partition("?")[0]
        if call.changes:
            self.changes.append(call.body)
            return {}
        if path.startswith("/connector-plugins/"):
            return {"configs": []}
        if path == "/connectors":
            return list(self.connectors)
        if path.endswith("/config") and (found := self.connectors.get(path.split("/")[2])):
            return found
        if path in self.answers:
            return self.answers[path]
        raise NotFound("HTTP 404", 404)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    file = tmp_path / "contexts.toml"
    file.write_text('[contexts.there]\nurl = "http://there:8083"\n')
    (tmp_path / "config.toml").write_text('[promote.there]\nnames = { "-a" = "", "-b" = "" }\n')

    def run(line: str, here: MemoryCluster, there: MemoryCluster | None = None, read_only: bool = False) -> Result:
        command, profile = parse(line), Profile("http://here:8083", "here")
        assert command is not None
        profile = profile.as_read_only() if read_only else profile
        context = CommandContext(
            lambda: Connect(here, guard(profile)), profile=lambda: profile, profiles=ContextsFile(file),
            read=str, narrate=lambda text: None,
            dial_other=lambda other: Connect(there or MemoryCluster(), guard(other)),
        )  # fmt: skip
        return drive(execute(command, context))

    return run


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("promote 'orders-*' --as orders --to there -y", "--as needs exactly one connector"),
        ("promote orders-a orders-b --to there -y", "orders-a and orders-b would both be orders in there"),
    ],
)
def test_two_connectors_are_not_promoted_to_one(run: Any, line: str, message: str) -> None:
    there = MemoryCluster()
    with pytest.raises(UsageError, match=message):
        run(line, MemoryCluster("orders-a", "orders-b"), there)
    assert there.changes == []


def test_read_only_holds_for_the_other_cluster(run: Any) -> None:
    there = MemoryCluster()
    with pytest.raises(ReadOnly, match="--read-only was given"):
        run("promote orders-a --to there -y", MemoryCluster("orders-a"), there, read_only=True)
    assert there.changes == []


@pytest.mark.parametrize(("created", "restored"), [(100, True), (300, False)])
def test_offsets_of_an_earlier_connector_are_not_restored(run: Any, created: int, restored: bool) -> None:
    """A connector deleted with its offsets at 200; if it was created again later, it has left offsets of its own."""
    entry = {"who": "", "why": "", "state": "STOPPED"}
    deletion = {**entry, "number": 2, "time": 400, "action": "delete", "before": CONFIG, "after": None}
    creation = {**entry, "number": 1, "time": created, "action": "create", "before": None, "after": CONFIG}
    offsets = {"number": 1, "time": 200, "action": "delete", "who": "", "why": "", "before": [OFFSET], "after": []}
    here = MemoryCluster()
    here.answers = {
        "/connectors/a/config/history": {"history": [deletion, creation]},
        "/connectors/a/offsets/history": {"history": [offsets]},
    }
    run("undo delete a -y", here)
    (body,) = here.changes
    assert body.get("initial_offsets", []) == ([OFFSET] if restored else [])
