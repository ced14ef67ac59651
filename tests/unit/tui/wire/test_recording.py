"""Recording of answers, and their replay."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from tests.support.console_transports import InMemory
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.errors import Conflict, NotFound, Unreachable, UsageError
from tui.wire.recording import RecordingTransport, ReplayTransport


class Worker(InMemory):
    """Answers, refuses and streams."""

    url = "http://user:hunter2@h:8083"

    async def send(self, call: ApiCall) -> Any:
        if call.method == "PUT":
            raise Conflict("a rebalance", 409)
        if call.path == "/gone":
            raise Unreachable("cannot reach it")
        return {"x": {"config": {"db.password": "hunter2", "ref": "${a:b}"}}}

    async def lines(self, path: str, last_id: str, lasting: float | None = None) -> AsyncGenerator[str, None]:
        for line in ("", "event: connector", 'data: {"config": {"token": "hunter2"}}', ""):
            yield line


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def record(file: Path) -> None:
    clock = Clock()
    recording = RecordingTransport(Worker(), str(file), clock)
    for path in ("/connectors", "/gone"):
        try:
            await recording.send(ApiCall("GET", path))
        except Unreachable:
            clock.now += 1
    with pytest.raises(Conflict):
        await recording.send(ApiCall("PUT", "/connectors/x/config", {"api.key": "hunter2"}))
    assert len([line async for line in recording.lines("/events", "")]) == 4
    await recording.close()


async def test_recorded_answers_are_replayed(tmp_path: Path) -> None:
    file = tmp_path / "recording.jsonl"
    await record(file)
    assert "hunter2" not in file.read_text() and file.stat().st_mode & 0o077 == 0
    replay = ReplayTransport(str(file))
    assert replay.url == "http://h:8083"
    assert await replay.send(ApiCall("GET", "/connectors")) == {
        "x": {"config": {"db.password": "[hidden]", "ref": "${a:b}"}}
    }
    with pytest.raises(Unreachable):
        await replay.send(ApiCall("GET", "/gone"))
    with pytest.raises(Conflict) as caught:
        await replay.send(ApiCall("PUT", "/connectors/x/config"))
    assert caught.value.status == 409
    with pytest.raises(NotFound, match="not in the recording"):
        await Connect(replay).root()
    lines = replay.lines("/events", "")
    assert [await asyncio.wait_for(anext(lines), 30) for _ in range(3)][2] == 'data: {"config": {"token": "[hidden]"}}'
    await lines.aclose()


async def test_answers_are_replayed_at_the_recorded_times(tmp_path: Path) -> None:
    file = tmp_path / "recording.jsonl"
    head = '{"headrace": 1, "url": "http://h"}'
    answers = [f'{{"at": {at}, "method": "GET", "path": "/", "answer": {at}}}' for at in (1, 5, 9)]
    file.write_text("\n".join([head, *answers, '{"at": 12, "met']))
    clock = Clock()
    replay = ReplayTransport(str(file), clock)
    seen = []
    for clock.now in (0.0, 1.0, 6.0, 99.0):
        seen.append(await replay.send(ApiCall("GET", "/")))
    assert seen == [1, 1, 5, 9]


@pytest.mark.parametrize("text", ["", "{}\n", "plain words\n"])
def test_a_file_that_is_not_a_recording_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text)
    with pytest.raises(UsageError, match="is not a recording"):
        ReplayTransport(str(tmp_path / "x"))
