"""Reading and editing the config of a connector on the screen, on Apache's worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.console.console import Console, console
from tests.support.servers.stub_worker import LIST, Raw, listed, stub_worker
from tests.tui.conftest import Cluster
from tui.config.secrets import MASK
from tui.screens.config.pane import NOT_READ

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
        await seen.sees("the edits were discarded; ^Z brings them back")
        assert not seen.home.unsaved
        await seen.press("ctrl+z")
        assert '"tasks.max": "2"' in seen.home.view.config.editor.text
        await seen.sees("would change 1 key", "+ tasks.max = 2")
        await seen.until(lambda: seen.home.unsaved)
        await seen.press("f5", "escape")
        await seen.until(lambda: seen.home.status.text == "", "what can no longer be undone is not offered")
    assert config_of(cluster, name)["tasks.max"] == "1"


@pytest.mark.usefixtures("own_folders")
async def test_values_are_hidden_by_the_definitions_of_all_plugins() -> None:
    refused = {"transforms": "t", "transforms.t.type": "x.Refused", "transforms.t.field": "4711"}
    added = {"transforms": "t,u", "transforms.u.type": "x.T", "transforms.u.pin": "4711", "transforms.u.field": "here"}
    one, now = listed("a", config=refused), listed("a", config={**refused, **added})
    answers = {
        LIST: {"a": one},
        "/": {"version": "4.3.0", "commit": "c", "kafka_cluster_id": "k"},
        "/connectors/a/config": now["info"]["config"],
        "/connector-plugins/a.b.FileStreamSink/config": [{"name": "topics", "type": "LIST"}],
        "/connector-plugins/x.Refused/config": Raw(b'{"error_code":403,"message":"forbidden"}', 403),
        "/connector-plugins/x.T/config": [{"name": "pin", "type": "PASSWORD"}, {"name": "field", "type": "STRING"}],
        "/connector-plugins/FileStreamSink/config/validate": {"configs": []},
    }
    async with stub_worker(answers) as worker, console(worker.url, 140, 60) as seen:
        await seen.go("a")
        await seen.press("enter", "3")
        await seen.sees(NOT_READ, "transforms.t.field", "a.b.FileStreamSink")
        assert "4711" not in seen.text and "x.Refused" not in seen.text
        worker.answers[LIST] = {"a": now}
        assert seen.home.services is not None
        seen.home.services.connection.store.refresh()
        await seen.sees("transforms.u.pin", "here")
        assert "4711" not in seen.text
        await seen.press("e")
        more = {"type": "x.T2", "pin": "4712", "field": "there"}
        worker.answers["/connector-plugins/x.T2/config"] = answers["/connector-plugins/x.T/config"]
        lines = "".join(f',\n  "transforms.v.{key}": "{value}"' for key, value in more.items())
        await edited(seen, '"transforms": "t,u"', f'"transforms": "t,u,v"{lines}')
        await seen.sees("+ transforms.v.field = there", f"+ transforms.v.pin = {MASK}")
        worker.answers["PATCH /connectors/a/config"] = now["info"]
        await seen.press("ctrl+s")
        await seen.sees("change the config of a?")
        await seen.confirm("y")
        await seen.sees("the config read back differs", "transforms.v.field")
        (operation,) = seen.home.operations.log
        logged = repr((operation.lines, operation.calls, operation.curl(worker.url)))
        assert "there" in logged and "4712" not in logged + seen.text


@pytest.mark.usefixtures("own_folders")
async def test_a_text_typed_during_an_outage_is_validated_when_it_ends() -> None:
    """Also if only the validation got no response: it is tried again before the question."""
    away, path = Raw(b"{}", 503), "/connector-plugins/FileStreamSink/config/validate"
    bad = {"name": "topics", "value": "u", "errors": ["no such topic"], "recommended_values": [], "visible": True}
    refusal = {"error_count": 1, "configs": [{"definition": {"name": "topics", "type": "LIST"}, "value": bad}]}
    answers = {
        LIST: {"a": listed("a")},
        "/": {"version": "4.3.0", "commit": "c", "kafka_cluster_id": "k"},
        "/connector-plugins/a.b.FileStreamSink/config": [{"name": "topics", "type": "LIST"}],
        path: refusal,
    }
    async with stub_worker(answers) as worker, console(worker.url, 140, 60) as seen:
        await seen.go("a")
        await seen.press("enter", "3")
        await seen.sees("connector.class", "topics")
        assert seen.home.services is not None
        store = seen.home.services.connection.store
        worker.answers |= {LIST: away, path: away}
        store.refresh()
        await seen.until(lambda: seen.home.is_stale)
        await seen.press("e")
        await edited(seen, '"topics": "t"', '"topics": "u"')
        await seen.sees("+ topics = u", "not validated: HTTP 503")
        worker.answers |= {LIST: answers[LIST], path: refusal}
        store.refresh()
        await seen.sees("no such topic")
        assert "not validated" not in seen.text
        worker.answers[path] = away
        await edited(seen, '"topics": "u"', '"topics": "v"')
        await seen.sees("not validated: HTTP 503")
        worker.answers[path] = refusal
        await seen.press("ctrl+s")
        await seen.sees("not applied: fix line", "no such topic")
