"""Saved views of the list, and filters by config."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.console.console import console
from tests.support.servers.stub_worker import LIST, listed, stub_worker


async def test_a_view_is_saved_shown_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    connectors = {name: listed(name, config={"connection.url": f"jdbc://{name[-3:]}"}) for name in ("a-db7", "b-db8")}
    async with stub_worker({"/": {"version": "4.3.0"}, LIST: connectors}) as worker:
        async with console(worker.url) as seen:
            await seen.go("a-db7")
            await seen.press("slash", *"config:connection.url~db7", "enter")
            await seen.until(lambda: seen.home.connector_list.keys == ["a-db7"])
            await seen.press("V")
            await seen.sees("none saved yet", "now config:connection.url~db7")
            await seen.press("plus", "d")
            await seen.sees("V d shows config:connection.url~db7")
            await seen.press("escape", "V")
            await seen.sees("d config:connection.url~db7", "now all connectors")
            await seen.press("d")
            await seen.until(lambda: seen.home.connector_list.keys == ["a-db7"])
        async with console(worker.url) as seen:
            await seen.go("a-db7")
            await seen.press("V", "minus", "d")
            await seen.sees("the view d is removed")
