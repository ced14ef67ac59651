"""Snapshots of plugins, wizard, review and config editor with answers of Apache's worker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.console.snapshot import RECORDING, SIZES, recorded, same, still
from tui.screens.create.review import ReviewScreen

__all__ = ["still"]
pytestmark = pytest.mark.usefixtures("still")
SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
DOCUMENTED = {"FileStreamSource": SOURCE, "FileStreamSink": SOURCE.replace("Source", "Sink")}


def validated(keys: list[dict[str, Any]]) -> dict[str, Any]:
    """The validation answer for a valid config."""
    entries = [{"definition": key, "value": {"name": key["name"], "errors": []}} for key in keys]
    return {"name": "", "error_count": 0, "groups": [], "configs": entries}


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """The recording, with additional answers for full plugin names and for a valid config."""
    head, *lines = RECORDING.read_text("utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    found = {entry.get("path"): entry for entry in entries}
    for short, cls in DOCUMENTED.items():
        one = found[f"/connector-plugins/{short}/config"]
        entries.append({**one, "path": f"/connector-plugins/{cls}/config"})
        for name in (short, cls.rpartition(".")[2]):
            path = f"/connector-plugins/{name}/config/validate"
            entries.append({**one, "method": "PUT", "path": path, "answer": validated(one["answer"])})
    file = tmp_path / "more.jsonl"
    file.write_text("\n".join([head, *map(json.dumps, entries)]) + "\n", "utf-8")
    return file


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_pages(size: tuple[int, int], recording: Path) -> None:
    async with recorded(*size, recording) as seen:
        await seen.sees("orders-log")
        await seen.go("payments-ledger")
        await seen.press("enter", "3", "e")
        await seen.until(lambda: seen.home.view.config.is_editing)
        editor = seen.home.view.config.editor
        editor.text = editor.text.replace('"tasks.max": "2"', '"tasks.max": "4"')
        validator = seen.home.view.config.validator
        await seen.until(lambda: validator.settled and validator.validation)
        await same(seen, "config-editor")
        await seen.press("f3")
        await same(seen, "config-editor-lines")
        await seen.press("escape", "P")
        await seen.sees("FileStreamSource")
        await seen.press("slash", *"stream", "enter")
        await same(seen, "plugins")
        await seen.press("g", "c")
        await seen.sees("a connector needs a name")
        await same(seen, "wizard")
        await seen.press("g", "enter", *"new", "enter", "down", "enter", *"orders", "enter", "ctrl+s")
        await seen.until(lambda: isinstance(seen.app.screen, ReviewScreen))
        await same(seen, "wizard-review")
        await seen.until(lambda: isinstance(seen.app.screen, ReviewScreen) and seen.app.screen.armed)
        await seen.press("y")
        await seen.sees("create refused: a recording is read-only")
