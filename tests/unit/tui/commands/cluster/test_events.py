"""`get events`: the events in each output format."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

from tests.support.console.command_context import run_command
from tests.support.console.console_transports import InMemory
from tui.client.client import Connect
from tui.commands.result import Result
from tui.contexts.profiles import Profile


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


def run(line: str) -> tuple[Result, list[str]]:
    heard: list[str] = []
    return run_command(line, Connect(Streaming()), Profile(Streaming.url), report=heard.append), heard


def test_progress_events_are_not_in_the_table() -> None:
    for form, events in (("", ["connector", "removed"]), ("-o jsonl", ["connector", "progress", "removed"])):
        result, heard = run(f"get events {form}")
        assert [event["event"] for event in result.raw] == events
        assert heard == ["listening for 10 s"], "the table appears only at the end"
    assert len(run("get events -o wide")[0].raw) == 3
    assert run("get events --for 2s")[1] == []
