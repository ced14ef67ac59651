"""^Y on any screen, `:copy` and `:export screen`: parts of the screen go to the clipboard or into a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.console.console import Console, detached_console, update
from tests.unit.tui.screens.builders import connector
from tui.screens.base.copy_menu import CopyMenu
from tui.screens.base.reading import Reading

SOME = (connector("orders-sink", topics="orders"), connector("stock", tasks=("FAILED",)))


async def shown(seen: Console) -> None:
    """Both connectors, with the cursor on orders-sink."""
    update(seen, *SOME)
    await seen.go("orders-sink")


async def choose(seen: Console, key: str) -> None:
    await seen.press("ctrl+y")
    await seen.until(lambda: isinstance(seen.app.screen, CopyMenu), "the menu")
    await seen.press(key)
    await seen.until(lambda: not isinstance(seen.app.screen, CopyMenu), "the menu to close")


async def test_parts_of_the_list_are_copied() -> None:
    async with detached_console() as seen:
        await shown(seen)
        await seen.press("ctrl+y", "ctrl+y")
        assert seen.app.screen is seen.home, "the key closes the menu, too"
        await seen.press("ctrl+y")
        await seen.sees("with shift, write to a file", "1 name orders-sink", "the table, 2 rows, as TSV")
        await seen.press("escape")
        await choose(seen, "1")
        assert seen.app.clipboard == "orders-sink"
        await seen.sees("name: ")
        await choose(seen, "t")
        heading, first, second = seen.app.clipboard.splitlines()
        assert heading.split("\t")[:3] == ["NAME", "TYPE", "STATE"] and "CLASS" in heading, "columns without room, too"
        assert first.startswith("stock\tsink\tFAILED\t") and second.startswith("orders-sink\tsink\tRUNNING\t")
        await choose(seen, "r")
        assert seen.app.clipboard == second
        await choose(seen, "s")
        assert "✗ FAILED" in seen.app.clipboard and "the table" not in seen.app.clipboard


def check_file(folder: Path) -> None:
    (file,) = folder.glob("connectors-*.json")
    assert [row["name"] for row in json.loads(file.read_text())] == ["stock", "orders-sink"]
    assert file.stat().st_mode & 0o777 == 0o600


async def test_parts_are_written_to_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with detached_console(width=100, height=30) as seen:
        await shown(seen)
        await choose(seen, "J")
        check_file(tmp_path)
        await seen.sees("written to")
        seen.home.set_filter("orders")
        seen.home.run_line("export screen some.tsv")
        await seen.sees("some.tsv")
        assert [line.split("\t")[0] for line in (tmp_path / "some.tsv").read_text().splitlines()] == [
            "NAME",
            "orders-sink",
        ]
        seen.home.run_line("export screen some.pdf")
        await seen.sees("must end in .tsv")
        seen.home.run_line(f"export screen {tmp_path}/none/some.json")
        await seen.sees("cannot write")
        seen.home.run_line("copy jsonl")
        await seen.sees("as lines of JSON: ")
        assert json.loads(seen.app.clipboard)["name"] == "orders-sink"
        seen.home.run_line("copy text")
        await seen.sees("the screen shows no text")


async def test_texts_over_the_screen_are_copied() -> None:
    async with detached_console() as seen:
        await shown(seen)
        await seen.press("question_mark")
        await seen.until(lambda: isinstance(seen.app.screen, Reading), "the help")
        await choose(seen, "x")
        assert "keys that work here" in seen.app.clipboard and "export screen" in seen.app.clipboard
        await seen.sees("help the text, ")


async def test_a_text_field_keeps_the_key() -> None:
    async with detached_console() as seen:
        await shown(seen)
        await seen.press("colon", *"describe", "ctrl+y")
        assert seen.app.screen is seen.home
        await seen.press("escape", "ctrl+y")
        await seen.until(lambda: isinstance(seen.app.screen, CopyMenu), "the menu")
