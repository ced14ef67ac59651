"""Malformed answers: whatever a server sends, a command ends with a HeadraceError or with a result."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.console.command_context import command_context
from tests.support.console.console_transports import InMemory
from tests.unit.tui.scripted import expanded, status
from tui.client.calls import ApiCall, drive
from tui.client.client import Connect
from tui.commands.base import execute
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Profile
from tui.errors import HeadraceError, NotFound
from tui.script.grammar import parse
from tui.script.output import render

pytestmark = pytest.mark.usefixtures("own_folders")

SINK = {"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 5}}
KEY = {"name": "file", "type": "STRING", "required": True, "order_in_group": 1, "documentation": "a", "group": "g"}
SIDE = {"topic": "t", "value": 1}
ANSWERS: dict[str, Any] = {
    "/": {"version": "4.3.0", "commit": "c", "kafka_cluster_id": "k"},
    "/connectors?expand=status&expand=info": expanded(status("a", tasks=["FAILED"])),
    "/connectors?expand=status": expanded(status("a")),
    "/connectors": ["a"],
    "/connectors/a": {"name": "a", "config": {"connector.class": "b.C", "topics": "t"}, "tasks": [], "type": "sink"},
    "/connectors/a/status": status("a", tasks=["FAILED"]),
    "/connectors/a/config": {"connector.class": "b.C", "topics": "t"},
    "/connectors/a/tasks": [{"id": {"connector": "a", "task": 0}, "config": {"x": "y"}}],
    "/connectors/a/topics": {"a": {"topics": ["t"]}},
    "/connectors/a/offsets": {"offsets": [SINK]},
    "/connectors/a/offsets?detail=true": {
        "offsets": [{**SINK, "end": 9, "lag": {"records": 4, "ms": 7}, "age_ms": 3}], "stalled": [0], "expires_at": 1,
    },
    "/connectors/a/offsets/history": {
        "history": [
            {"number": 1, "time": 1, "action": "alter", "who": "w", "why": "y", "before": [], "after": [SINK]}
        ]
    },
    "/connectors/a/offsets/resolve": {
        "changes": [{"partition": SINK["partition"], "from": 5, "to": 9, "reread": 0, "skipped": 4}]
    },
    "/connectors/a/preview": {
        "records": [
            {
                "by": "r", "result": "CHANGED", "before": SIDE, "after": SIDE, "kafka": {"topic": "t"},
                "stages": [{"alias": "r", "changes": [{"at": "value", "before": 1, "after": 2}]}],
            }
        ],
        "summary": {"records": 1, "changed": 1}, "warnings": ["w"],
    },
    "/connector-plugins?connectorsOnly=true": [{"class": "b.C", "type": "sink", "version": "1"}],
    "/connector-plugins/b.C/config": [KEY],
    "/connector-plugins/C/config/validate": {
        "error_count": 1, "configs": [{"definition": KEY, "value": {"errors": ["e"], "recommended_values": ["r"]}}],
    },
    "/admin/loggers": {"root": {"level": "INFO", "last_modified": 5}},
    "/admin/loggers/root?scope=worker": ["root"],
    "/orphaned-offsets": {
        "sources": [{"connector": "o", "partitions": 1}], "sinks": [{"connector": "s", "partitions": 1, "group": "g"}],
    },
    "/orphaned-offsets/o": {"message": "removed"},
    "/workers": {
        "group_id": "g", "generation": 3, "leader": "w:1", "rebalancing": False,
        "workers": [
            {
                "worker_id": "w:1", "url": "http://w:1/", "leader": True, "here": True, "implementation": "headrace",
                "version": "0.1.0", "slots": 2, "load": 0.5, "state": "ACTIVE", "connectors": ["a"],
                "tasks": [{"connector": "a", "task": 0}],
            }
        ],
        "waiting": [{"connector": "b", "task": -1, "until": 1}],
    },
}  # fmt: skip
LINES = (
    "info",
    "get connectors",
    "describe connector a --tasks-config",
    "get topics a",
    "get offsets a",
    "get offsets a -o wide",
    "get offset history a",
    "get plugins",
    "describe plugin b.C",
    "get loggers",
    "get orphans",
    "get workers",
    "describe worker w:1",
    "drain worker w:1 --dry-run",
    "patch logger root -l INFO",
    "patch logger root -l INFO --dry-run",
    "delete orphans o",
    "pause connector *",
    "restart task a/0 --dry-run",
    "wait connector a FAILED --timeout 0s",
    "patch offsets a --to latest --dry-run",
    "patch connector a -s x=y --dry-run",
    "preview connector a",
    "export offsets a",
    "undo a --dry-run",
)
WRONG: tuple[Any, ...] = (None, 5, -1, 10**400, 1e308, True, "x", [], [7], {}, {"x": 1}, [None])


class Answering(InMemory):
    """Answers by path, with 404 for unknown paths. Requests that change something get the same answer as GET."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.asked: set[str] = set()

    async def send(self, call: ApiCall) -> Any:
        self.asked.add(call.path)
        if call.path not in self.answers:
            raise NotFound(f"{call.path} not found", 404)
        return copy.deepcopy(self.answers[call.path])


def run(line: str, transport: Answering, folder: Path) -> str:
    """The output of the command."""
    command = parse(line)
    assert command is not None
    profile = Profile("http://memory:8083", "memory")
    context = command_context(Connect(transport), profile, profiles=ContextsFile(folder / "contexts.toml"))
    result = drive(execute(command, context))
    return render(result, command.output or "table") + render(result, "json")


def mutants(value: Any) -> Iterator[Any]:
    """The answer with one of its nodes replaced or removed."""
    yield from WRONG
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        for other in mutants(value[key]):
            changed = copy.copy(value)
            changed[key] = other
            yield changed
        if isinstance(value, dict):
            yield {name: part for name, part in value.items() if name != key}


@pytest.mark.parametrize("line", LINES)
def test_any_answer_ends_a_command_with_a_result_or_a_headrace_error(line: str, tmp_path: Path) -> None:
    asked = Answering(ANSWERS)
    assert run(line, asked, tmp_path), "valid answers cause no error"
    for path in sorted(asked.asked & ANSWERS.keys()):
        for wrong in mutants(ANSWERS[path]):
            try:
                run(line, Answering({**ANSWERS, path: wrong}), tmp_path)
            except HeadraceError as error:
                assert str(error)
            except Exception as error:
                pytest.fail(f"{path} answered {json.dumps(wrong)[:300]}: {error!r}")


def test_the_error_names_the_request_and_the_field() -> None:
    transport = Answering({**ANSWERS, "/connectors/a/status": {"connector": "x", "tasks": 5}})
    with pytest.raises(HeadraceError, match=r"malformed response to GET /connectors/a/status: connector: .*object"):
        drive(Connect(transport).status("a"))
