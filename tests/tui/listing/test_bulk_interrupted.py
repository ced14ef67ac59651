"""A bulk operation whose requests are not answered: quitting names what would not be sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.console.console import Console, console
from tests.support.servers.stub_worker import HANG, LIST, listed, stub_worker
from tui.screens.base.dialog import Dialog

NAMES = [f"c{number}" for number in range(6)]


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def answers() -> dict[str, Any]:
    stops = {f"PUT /connectors/{name}/stop": HANG for name in NAMES}
    return {"/": {"version": "4.3.0"}, LIST: {name: listed(name) for name in NAMES}, **stops}


async def stopping_all(seen: Console) -> None:
    await seen.sees("c5", "polling")
    await seen.press("asterisk", "s")
    await seen.sees("type 6 to continue")
    await seen.press("6")
    await seen.confirm("enter")
    await seen.sees("stop 6 connectors: 4 requested, 2 waiting")


async def test_quitting_names_what_would_not_be_sent() -> None:
    async with stub_worker(answers()) as worker, console(worker.url) as seen:
        await stopping_all(seen)
        await seen.press("escape", "q")
        await seen.until(lambda: isinstance(seen.app.screen, Dialog))
        await seen.sees(
            "under way, would be interrupted: stop c0", "not sent yet, would not be sent: stop 2 connectors"
        )
        await seen.press("n")
