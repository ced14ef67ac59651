"""Snapshots of screens as text files: a change of a screen appears as a change of a file.

HEADRACE_SNAPSHOTS=update pytest tests/tui/test_snapshots.py        writes all of them; check `git diff`
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from difflib import unified_diff
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.console.console import Console
from tui import session
from tui.app import HeadraceApp
from tui.dead_letters.brokers import DeadLetterTopic, DeadLetterWindow
from tui.errors import Unreachable
from tui.offsets.brokers import Brokers

_TESTS = Path(__file__).parents[2] / "tui"
FOLDER = _TESTS / "snapshots"
RECORDING = _TESTS / "recordings" / "connect.jsonl"
SIZES = [(80, 24), (120, 40), (200, 50)]
NOON = 1_790_000_000.0  # the time of every clock


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stops the clock of the screens, in UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr(time, "time", lambda: NOON)
    for module in ("services.connection", "clusters.clusters", "home.base", "home.updates"):
        still_time = SimpleNamespace(monotonic=time.time, strftime=time.strftime)
        monkeypatch.setattr(f"tui.screens.{module}.time", still_time)
    yield
    monkeypatch.undo()
    time.tzset()


@asynccontextmanager
async def recorded(width: int, height: int, recording: Path = RECORDING, bootstrap: str = "") -> AsyncIterator[Console]:
    """The console with recorded answers of a real worker, in a context with these bootstrap servers, which do not
    respond."""
    app, ended = HeadraceApp(session.replayed(str(recording))._replace(bootstrap=bootstrap)), threading.Event()

    def await_end(*_: object) -> None:
        ended.wait()
        raise Unreachable("the test has ended")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Brokers, "request", await_end)
        async with app.run_test(size=(width, height)) as pilot:
            try:
                yield Console(app, pilot)
            finally:
                ended.set()


class ScriptedDeadLetters(DeadLetterTopic):
    """A dead letter topic without brokers."""

    window: DeadLetterWindow

    def newest(self, count: int, before: Mapping[int, int] | None = None) -> DeadLetterWindow:
        return self.window


def scripted_topic(window: DeadLetterWindow) -> Callable[[str, Mapping[str, Any]], DeadLetterTopic]:
    """Opens topics that hold these letters."""

    def open_topic(name: str, settings: Mapping[str, Any]) -> DeadLetterTopic:
        topic = ScriptedDeadLetters(name, settings)
        topic.window = window
        return topic

    return open_topic


def with_answers(recording: Path, folder: Path, answers: Mapping[str, Any]) -> Path:
    """A copy of a recording with additional or changed answers to GET, by path."""
    lines = [json.dumps({"at": 0.0, "method": "GET", "path": path, "answer": one}) for path, one in answers.items()]
    file = folder / recording.name
    file.write_text(recording.read_text("utf-8").rstrip("\n") + "\n" + "\n".join(lines) + "\n", "utf-8")
    return file


async def same(seen: Console, name: str) -> None:
    """Compares the screen, once it no longer changes, with snapshots/NAME-WIDTHxHEIGHT.txt."""
    size = seen.app.size
    file = FOLDER / f"{name}-{size.width}x{size.height}.txt"
    if os.environ.get("HEADRACE_SNAPSHOTS") == "update":
        file.parent.mkdir(exist_ok=True)
        file.write_text(await rest(seen), "utf-8")
        return
    assert file.exists(), f"no snapshot {file.name}: create it with HEADRACE_SNAPSHOTS=update, then check it"
    expected = file.read_text("utf-8")
    deadline = time.monotonic() + 20
    while (shown := await rest(seen)) != expected and time.monotonic() < deadline:
        pass  # on a busy machine the screen may pause before it is complete
    if shown != expected:
        changes = unified_diff(expected.splitlines(), shown.splitlines(), file.name, "the screen", lineterm="", n=1)
        pytest.fail("\n".join(changes), pytrace=False)


async def rest(seen: Console) -> str:
    """The text of the screen after six checks without a change."""
    text, quiet = _text(seen), 0
    while quiet < 6:
        await seen.pilot.pause(0.03)
        now = _text(seen)
        text, quiet = now, quiet + 1 if now == text else 0
    return text


def _text(seen: Console) -> str:
    return "\n".join(seen.lines).rstrip() + "\n"
