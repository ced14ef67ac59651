"""Reading and editing the config of a connector on the screen, on Apache's worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.conftest import Cluster
from tests.tui.console import Console, console
from tui.config.secrets import MASK

REFERENCE = "${file:/none:key}"


@pytest.fixture
def name(cluster: Cluster, tmp_path: Path) -> str:
    config = {"connector.class": "FileStreamSource", "file": str(tmp_path / "none"), "topic": "none", "tasks.max": "1"}
    return cluster.create(f"config-{tmp_path.name[-8:]}", {**config, "db.password": "hunter2", "own.url": REFERENCE})


def config_of(cluster: Cluster, name: str) -> dict[str, str]:
    return dict(cluster.request("GET", f"/connectors/{name}/config")[1])


async def opened(seen: Console, name: str) -> None:
    await seen.go(name)
    await seen.press("enter", "3")
    await seen.sees("connector.class", "FileStreamSource")


async def edited(seen: Console, old: str, new: str) -> None:
    editor = seen.home.view.config.editor
    await seen.until(lambda: seen.home.view.config.is_editing)
    editor.text = editor.text.replace(old, new)


async def test_each_key_has_its_documentation_and_secrets_are_hidden(cluster: Cluster, name: str) -> None:
    async with console(cluster.url, 100, 60) as seen:
        await opened(seen, name)
        await seen.sees("db.password", MASK, "own.url", REFERENCE)
        assert "hunter2" not in seen.text
        seen.home.view.config.query_one("#keys").go("tasks.max")  # type: ignore[attr-defined]  # a Grid
        await seen.sees("Maximum number of tasks", "default 1")
        await seen.press("a")
        await seen.sees("errors.tolerance", "batch.size")
        await seen.press("y")
        assert MASK in seen.app.clipboard and "hunter2" not in seen.app.clipboard


async def test_errors_are_marked_and_only_the_difference_is_sent(cluster: Cluster, name: str) -> None:
    async with console(cluster.url, 100, 60) as seen:
        await opened(seen, name)
        await seen.press("e")
        await edited(seen, '"tasks.max": "1"', '"tasks.max": "x"')
        await seen.sees("Invalid value x for configuration tasks.max", "would change 1 key")
        await seen.press("ctrl+s")
        await seen.sees("not applied: fix line ")
        await edited(seen, '"tasks.max": "x"', '"tasks.max": "2",\n  "task.max": "3"')
        await seen.sees("the plugin has no key task.max; did you mean tasks.max?", "− tasks.max = 1", "+ tasks.max = 2")
        await edited(seen, ',\n  "task.max": "3"', "")
        await seen.sees("✓ valid")
        await seen.press("ctrl+s")
        await seen.sees("Only these keys are sent")
        await seen.confirm("y")
        await seen.sees("✓ applied")
        assert not seen.home.view.config.is_editing
        sent = [call for call in seen.home.operations.log[-1].calls if call.changes]
        assert [(call.method, call.body) for call in sent] == [("PATCH", {"tasks.max": "2"})]
    found = config_of(cluster, name)
    assert (found["tasks.max"], found["db.password"], found["own.url"]) == ("2", "hunter2", REFERENCE)


async def test_the_text_is_kept_after_a_conflict(cluster: Cluster, name: str) -> None:
    async with console(cluster.url, 100, 60) as seen:
        await opened(seen, name)
        await seen.press("e")
        await edited(seen, '"tasks.max": "1"', '"tasks.max": "2"')
        await seen.sees("✓ valid")
        await seen.press("ctrl+s")
        await seen.sees("Only these keys are sent")
        assert cluster.request("PATCH", f"/connectors/{name}/config", {"topic": "other"})[0] == 200
        await seen.confirm("y")
        await seen.sees("not applied", "someone else changed the config: topic", "+ topic = other")
        assert '"tasks.max": "2"' in seen.home.view.config.editor.text
        assert '"topic": "other"' in seen.home.view.config.editor.text
        await seen.press("ctrl+s")
        await seen.confirm("y")
        await seen.sees("✓ applied")
    found = config_of(cluster, name)
    assert (found["tasks.max"], found["topic"], found["db.password"]) == ("2", "other", "hunter2")


async def test_key_value_and_a_new_secret(cluster: Cluster, name: str) -> None:
    async with console(cluster.url, 200, 50) as seen:
        await opened(seen, name)
        await seen.press("enter")
        await seen.until(lambda: seen.home.view.config.is_editing)
        await seen.press("f3")
        await seen.sees("db.password=" + MASK, "tasks.max=1")
        await edited(seen, "db.password=" + MASK, "db.password=correct horse")
        await seen.sees("would change 1 key", "✓ valid")
        await seen.press("ctrl+s")
        await seen.confirm("y")
        await seen.sees("✓ applied")
        logged = seen.home.operations.log[-1]
        assert "horse" not in str(logged.calls) + str(logged.lines) + str(logged.notes)
    assert config_of(cluster, name)["db.password"] == "correct horse"


async def test_read_only_refuses_and_leaving_keeps_the_text(cluster: Cluster, name: str) -> None:
    async with console(cluster.url, read_only=True) as seen:
        await opened(seen, name)
        await seen.press("e")
        await edited(seen, '"tasks.max": "1"', '"tasks.max": "2"')
        await seen.press("ctrl+s")
        await seen.sees("read-only")
        await seen.press("escape")
        await seen.sees("the text is kept")
        assert seen.home.unsaved == [f"edited config not applied: {name}"]
        await seen.press("e")
        assert '"tasks.max": "2"' in seen.home.view.config.editor.text
        await seen.press("f5")
        assert '"tasks.max": "1"' in seen.home.view.config.editor.text
    assert config_of(cluster, name)["tasks.max"] == "1"
