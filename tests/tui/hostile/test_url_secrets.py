"""A password in the URL of a cluster appears on no screen, in no table and in no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.console.console import console
from tests.tui.conftest import Cluster
from tui.client.client import Connect
from tui.contexts.profiles import Profile
from tui.session import endpoint
from tui.wire.evented import AsyncTransport


async def test_passwords_in_urls_appear_on_no_page(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    name = cluster.source()
    url = cluster.url.replace("://", "://me:hunter2@")
    assert Profile(url).label == cluster.url
    assert Connect(AsyncTransport(endpoint(Profile(url)))).url == cluster.url
    async with console(url, 200, 50) as seen:
        await seen.go(name)
        for key, sign in (("C", "cluster"), ("W", "workers"), ("L", "loggers"), ("P", "plugins"), ("o", "operations")):
            await seen.press(key)
            await seen.sees(sign)
            assert "hunter2" not in seen.text, key
            await seen.press("escape")
        await seen.press("p")
        await seen.confirm("y")
        await seen.until(lambda: seen.home.operations.log)
        await seen.press("o")
        await seen.sees("curl")
        assert "hunter2" not in seen.text
        await seen.press("escape", "colon", *"info", "enter")
        await seen.sees("kafka cluster id")
        assert "hunter2" not in seen.text
    assert "hunter2" not in _written_below(tmp_path)


def _written_below(folder: Path) -> str:
    return "\n".join(file.read_text("utf-8", "replace") for file in folder.rglob("*") if file.is_file())
