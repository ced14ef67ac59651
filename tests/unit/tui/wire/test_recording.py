"""Recording of answers, and their replay."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.support.clock import Clock
from tests.support.console.console_transports import InMemory
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.errors import BadRequest, Conflict, HeadraceError, NotFound, Unreachable, UsageError
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


class Pins(InMemory):
    """A connector whose class and transformation define keys of type PASSWORD; `refusal` is the answer for `x.T`."""

    config: ClassVar[dict[str, str]] = {
        "connector.class": "x.Y", "pin": "4711", "topics": "t",
        "transforms": "t", "transforms.t.type": "x.T", "transforms.t.salt": "4711", "transforms.t.field": "f",
    }  # fmt: skip

    def __init__(self, refusal: HeadraceError | None = None) -> None:
        self.refusal = refusal

    async def send(self, call: ApiCall) -> Any:
        if call.path == "/connector-plugins/x.Y/config":
            return [{"name": "pin", "type": "PASSWORD"}, {"name": "topics", "type": "LIST"}]
        if call.path == "/connector-plugins/x.T/config":
            if self.refusal is not None:
                raise self.refusal
            return [{"name": "salt", "type": "PASSWORD"}]
        if call.path.endswith("/validate"):
            definition = {"name": "pin", "type": "PASSWORD"}
            return {"name": "x.Y", "configs": [{"definition": definition, "value": {"name": "pin", "value": "4711"}}]}
        if call.path.endswith("/tasks"):
            return [{"id": {"connector": "a", "task": 0}, "config": {"task.pin": "4711"}}]
        return {"config": {"info": {"name": "config", "config": self.config}}}

    async def lines(self, path: str, last_id: str, lasting: float | None = None) -> AsyncGenerator[str, None]:
        yield "data: " + json.dumps({"connector": "a", "config": self.config})


@pytest.mark.parametrize("refusal", [None, BadRequest("forbidden", 403), Unreachable("cannot reach it")])
async def test_values_of_type_password_are_not_recorded(tmp_path: Path, refusal: HeadraceError | None) -> None:
    file, worker = tmp_path / "recording.jsonl", Pins(refusal)
    recording = RecordingTransport(worker, str(file))
    async for _ in recording.lines("/events", ""):
        assert "x.T" not in file.read_text(), "no definition has been read"
    for call in (
        ApiCall("GET", "/connectors?expand=info"),
        ApiCall("GET", "/connectors/a/tasks"),
        ApiCall("POST", "/connectors", {"name": "a", "config": worker.config}),
        ApiCall("PUT", "/connectors/a/config", worker.config),
        ApiCall("PATCH", "/connectors/a/config", {"pin": "4711"}),
        ApiCall("PUT", "/connector-plugins/x.Y/config/validate", worker.config),
    ):
        await recording.send(call)
    async for _ in recording.lines("/events", ""):
        pass
    await recording.close()
    text = file.read_text()
    assert "4711" not in text
    listed = (await ReplayTransport(str(file)).send(ApiCall("GET", "/connectors?expand=info")))["config"]["info"]
    shown = {key for key, value in listed["config"].items() if value != "[hidden]"}
    known = {"connector.class", "topics", "transforms"}
    assert shown == (known if refusal else {*known, "transforms.t.type", "transforms.t.field"})


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
