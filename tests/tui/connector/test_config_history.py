"""The history of a config on the screen, with Apache's worker; and the targets of a bulk action once more."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.console.console import console
from tests.tui.conftest import Cluster
from tui.config.history_files import ConfigHistoryFiles
from tui.user_folders import state_folder
from tui.wire.audit import audit_file


async def test_history_and_rollback(cluster: Cluster) -> None:
    name = cluster.source(state="STOPPED")
    now = cluster.request("GET", f"/connectors/{name}/config")[1]
    kept = ConfigHistoryFiles(state_folder(os.environ), cluster.url)
    kept.add(name, None, {**now, "tasks.max": "3"}, "", "ops@bastion", "")
    kept.add(name, {**now, "tasks.max": "3"}, {**now, "tasks.max": "2"}, "STOPPED", "ops@bastion", "ticket 7")
    kept.add(name, {**now, "tasks.max": "2"}, now, "STOPPED", "ops@bastion", "")
    async with console(cluster.url, 120, 40) as seen:
        await seen.go(name)
        await seen.press("enter", "3")
        await seen.sees("H history")
        await seen.press("H")
        await seen.sees("config history", "kept on this machine", "~tasks.max", "- tasks.max=2", "+ tasks.max=1")
        await seen.press("down")
        await seen.sees("ticket 7", "- tasks.max=3")
        await seen.press("R")
        await seen.sees("rollback config", "+ tasks.max=3")
        await seen.confirm("y")
        await seen.until(
            lambda: cluster.request("GET", f"/connectors/{name}/config")[1]["tasks.max"] == "3", "tasks.max=3"
        )
        await seen.until(lambda: kept.read(name)[0]["after"]["tasks.max"] == "3", "the rollback in the history")


async def test_the_same_targets_again(cluster: Cluster) -> None:
    names = [cluster.source("again", state="STOPPED") for _ in range(2)]
    async with console(cluster.url, 120, 40) as seen:
        for name in names:
            await seen.go(name)
            await seen.press("space")
        await seen.press("r")
        await seen.sees("resume 2 connectors")
        await seen.confirm("2", "enter")
        await seen.press("escape")
        await seen.press("M")
        await seen.sees("2 marked")  # the status line may already show the results of the resumption
        assert set(seen.home.marks) == set(names)


async def test_passwords_are_masked_whatever_their_key(
    our_connect_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker's history has the values; the plugin defines `pin` as PASSWORD."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with closing(Cluster(our_connect_url, tmp_path)) as ours:
        name = ours.source(state="STOPPED")
        config = ours.request("GET", f"/connectors/{name}/config")[1]
        config |= {"transforms": "x", "transforms.x.type": "headrace_test_transforms.Misbehaving"}
        for pin in ("zq4711-old", "zq4711-new"):
            config |= {"transforms.x.how": pin[7:], "transforms.x.pin": pin}
            assert ours.request("PUT", f"/connectors/{name}/config", config)[0] == 200
        async with console(ours.url, 120, 40) as seen:
            await seen.go(name)
            await seen.press("enter", "3", "H")
            await seen.sees("kept by the worker", "- transforms.x.how=old", "- transforms.x.pin=********")
            assert "zq4711" not in seen.text
            await seen.press("u")
            await seen.sees("undo config", "+ transforms.x.how=old", "+ transforms.x.pin=********")
            assert "zq4711" not in seen.text
            await seen.confirm("y")
            await seen.until(
                lambda: ours.request("GET", f"/connectors/{name}/config")[1]["transforms.x.pin"] == "zq4711-old"
            )
            await seen.press("escape", "o")
            await seen.sees("undo config", "curl")
            assert "zq4711" not in seen.text and "zq4711" not in repr(seen.home.operations.log)
    assert "zq4711" not in audit_file().read_text()
