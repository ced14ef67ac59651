"""`get events`: the events in each output format."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

from tests.support.console.command_context import command_context
from tests.support.console.console_transports import InMemory
from tui.client.calls import drive
from tui.client.client import Connect
from tui.commands.base import execute
from tui.commands.result import Result
from tui.contexts.profiles import Profile
from tui.script.grammar import parse


class Streaming(InMemory):
    """Three events, and the end."""

    url = "http://streaming:8083"

    async def lines(self, path: str, last_id: str, lasting: float | None = None) -> AsyncGenerator[str, None]:
        for name, data in (
            ("connector", {"name": "a", "status": None, "info": None}),
            ("progress", {"time": 1, "connectors": {"a": {"read": 1}}}),
            ("removed", {"name": "a"}),
        ):
            for line in (f"event: {name}", f"data: {json.dumps(data)}", ""):
                yield line


def run_command(line: str) -> tuple[Result, list[str]]:
    heard: list[str] = []
    context = command_context(
        Connect(Streaming()),
        Profile(Streaming.url),
        report=heard.append,
    )
    command = parse(line)
    assert command is not None
    return drive(execute(command, context)), heard


def test_progress_events_are_not_in_the_table() -> None:
    for form, events in (("", ["connector", "removed"]), ("-o jsonl", ["connector", "progress", "removed"])):
        result, heard = run_command(f"get events {form}")
        assert [event["event"] for event in result.raw] == events
        assert heard == ["listening for 10 s"], "the table appears only at the end"
    assert len(run_command("get events -o wide")[0].raw) == 3
    assert run_command("get events --for 2s")[1] == []
