"""The menu of own commands runs programs for the connector under the cursor."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.console.console import console
from tests.support.servers.stub_worker import LIST, listed, stub_worker

CONFIG = """
[[commands]]
key = "g"
name = "echo"
run = "echo found {name} reading {topic} of {context}"

[[commands]]
key = "x"
name = "missing"
run = "no-such-program-here"
"""


async def test_own_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    name = "orders $(exit)"
    answers = {"/": {"version": "4.3.0"}, LIST: {name: listed(name)}}
    async with stub_worker(answers) as worker, console(worker.url, name="prod") as seen:
        await seen.go(name)
        await seen.press("exclamation_mark")
        await seen.sees("no own commands yet: add [[commands]]")
        (tmp_path / "headrace").mkdir(exist_ok=True)
        (tmp_path / "headrace" / "config.toml").write_text(CONFIG, "utf-8")
        await seen.press("exclamation_mark")
        await seen.sees(f"own commands for {name}", "g echo", "x missing")
        await seen.press("g")
        await seen.sees(f"found {name} reading t of prod")
        await seen.press("escape", "exclamation_mark", "x")
        await seen.sees("missing: cannot run no-such-program-here")
