"""The prompt: completion of filters, commands and screens; history of earlier sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.content import Content
from textual.widgets import Input

from tests.support.console.console import NO_CLUSTER, Console, console, detached_console
from tests.support.servers.stub_worker import HANG, LIST, listed, stub_worker
from tests.unit.tui.screens.builders import connector
from tui import model
from tui.commands.result import Result, Table
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Profile
from tui.offsets.changes import ChangeKind, OffsetChange
from tui.offsets.seek import SeekPlan, SeekPlanner, SeekRequest
from tui.screens.base import reading
from tui.screens.base.dialog import Dialog
from tui.screens.clusters.clusters import ClustersScreen
from tui.screens.home import command_history
from tui.screens.listing.filtering import complete
from tui.screens.offsets.set_by_time import SetByTimeDialog

pytestmark = pytest.mark.usefixtures("own_folders")


def test_filters_complete_from_existing_connectors() -> None:
    some = [connector("orders"), connector("pay", tasks=("FAILED",))]
    assert complete("st", some) == ["state:"]
    assert complete("state:", some) == ["state:failed", "state:running"]
    assert complete("orders -state:r", some) == ["orders -state:running"]
    assert complete("class:", some) == ["class:a.b.FileStreamSink"]
    assert complete("name:or", some) == ["name:orders"] and complete("orders", some) == []


def test_secrets_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "state" / "commands"
    secret = ("config set-context a --password x", "config set-context a --header X=1", "stop a\x1b")
    for line in ("info", *secret, "get plugins", "patch connector a -s pin=4711", "info"):
        command_history.add(path, line)
    assert command_history.load(path) == ["get plugins", "patch connector a -s pin=[hidden]", "info"]
    assert "4711" not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(b"\xff")
    assert command_history.load(path) == []


async def test_screen_commands_and_contexts_complete(own_folders: Path) -> None:
    ContextsFile(own_folders / "config" / "headrace" / "contexts.toml").put(Profile(NO_CLUSTER, "berlin"))
    async with detached_console(connector("berta")) as seen:
        await seen.press("colon", *"use-context be", "tab")
        await seen.sees(":use-context berlin")
        await seen.press("escape", "slash", *"state:r", "tab", "enter")
        await seen.until(lambda: seen.home.filter_text == "state:running")
        await seen.press("colon", *"clus", "tab", "enter")
        await seen.until(lambda: isinstance(seen.app.screen, ClustersScreen))
        await seen.sees("berlin")


async def test_history_outlives_the_session() -> None:
    async with detached_console() as seen:
        await seen.press("colon", *"theme light", "enter")
    async with detached_console() as seen:
        await seen.press("colon", "up")
        await seen.sees(":theme light")


def burst(seen: Console, *keys: str) -> None:
    """Sends all keys in one packet, as over a slow connection."""
    driver = seen.app._driver
    assert driver is not None
    for key in keys:
        driver.send_message(events.Key(key, key if len(key) == 1 else "/" if key == "slash" else None))


@pytest.mark.parametrize("first", [(), ("slash",)], ids=["all of it", "behind the open line"])
async def test_a_key_after_enter_acts_on_the_filtered_list(first: tuple[str, ...]) -> None:
    async with detached_console(connector("aaa", tasks=("FAILED",)), connector("payments", tasks=("FAILED",))) as seen:
        await seen.go("aaa")
        await seen.press(*first)
        burst(seen, *(key for key in ("slash", *"payx", "backspace", *"ments", "enter", "t") if key not in first))
        await seen.until(lambda: seen.home.is_detail and seen.home.view.page == "trace")
        assert (seen.home.view.name_shown, seen.home.filter_text) == ("payments", "payments")


async def test_editing_keys_are_processed_in_order() -> None:
    async with detached_console(connector("one", "STOPPED", (), topics="t")) as seen:
        await seen.go("one")
        await seen.press("enter", "5")
        pane = seen.home.view.offsets
        pane.loaded("one", (model.Offset({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": 10}),), {})
        await seen.press("e")
        await seen.until(lambda: pane.is_editing and pane.editor.has_focus)
        burst(seen, "backspace", "backspace", "7", "left", "4", "end", "backspace", "}")
        await seen.until(lambda: '"kafka_offset": 47}' in pane.editor.text, pane.editor.text)


@pytest.mark.parametrize(
    "keys",
    [
        (*"abcx", "backspace", *"def", "enter"),
        ("tab", *"whz", "backspace", "y", "enter", *"abcdef", "enter"),
        ("tab", *"why", "tab", *"bcdefx", "backspace", "home", "a", "end", "enter"),
        ("a", "b", "backspace", *"bcdef", "left", "delete", "f", "enter"),
    ],
    ids=lambda keys: "".join(key if len(key) == 1 else f"<{key}>" for key in keys),
)
async def test_keys_of_a_typed_confirmation_are_processed_in_order(keys: tuple[str, ...]) -> None:
    async with console(NO_CLUSTER) as seen:
        answers: list[bool | None] = []
        dialog = Dialog("delete abcdef?", Content("gone"), "delete", name="abcdef", why="")
        seen.app.push_screen(dialog, answers.append)
        await seen.until(lambda: seen.app.screen is dialog and dialog.armed)
        burst(seen, *keys)
        await seen.until(lambda: answers, dialog.name_field.value)
        assert (answers, dialog.why) == ([True], "why" if "tab" in keys else "")


async def test_typing_a_reason_does_not_confirm() -> None:
    """Without the prompt for the reason, the `y` in `wy` would have confirmed."""
    async with console(NO_CLUSTER) as seen:
        answers: list[bool | None] = []
        dialog = Dialog("alter?", Content("this"), "alter", why="")
        seen.app.push_screen(dialog, answers.append)
        await seen.until(lambda: seen.app.screen is dialog and dialog.armed)
        burst(seen, "w", *"yes indeex", "backspace", "d")
        await seen.until(lambda: dialog.query_one("#why", Input).value == "yes indeed")
        assert not answers
        burst(seen, "enter", "y")
        await seen.until(lambda: answers)
        assert (answers, dialog.why) == ([True], "yes indeed")


class Moments(SeekPlanner):
    """Resolves any timestamp to one change, and records the requests."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def resolve(self, name: str, target: SeekRequest) -> SeekPlan:
        self.asked.append(str(target.position))
        partition = {"kafka_topic": "t", "kafka_partition": 0}
        change = OffsetChange(ChangeKind.ALTER, partition, {"kafka_offset": 1}, {"kafka_offset": len(self.asked) + 1})
        return SeekPlan((model.Offset(partition, {"kafka_offset": 1}),), (change,), 1)


@pytest.mark.parametrize("seen_before", [(), ("+", "7")], ids=["at once", "after a look"])
async def test_keys_of_the_position_field_are_processed_in_order(seen_before: tuple[str, ...]) -> None:
    """Enter applies the text as typed, not an earlier one that was previewed."""
    async with console(NO_CLUSTER) as seen:
        chosen: list[SeekPlan | None] = []
        moments = Moments()
        screen = SetByTimeDialog("sink", None, moments)
        seen.app.push_screen(screen, chosen.append)
        await seen.until(lambda: seen.app.screen is screen and screen.query(Input))
        burst(seen, *seen_before)
        await seen.until(lambda: not seen_before or screen.seek_plan is not None)
        burst(seen, *(("+",) if not seen_before else ("backspace",)), "1", "2", "x", "backspace", "3", "enter")
        await seen.until(lambda: chosen, screen.text)
        assert moments.asked[-1] == "+123"
        assert chosen[0] is not None and chosen[0].changes[0].after == {"kafka_offset": len(moments.asked) + 1}


async def test_table_cells_of_results_are_not_folded(own_folders: Path) -> None:
    """Optional columns are omitted if they do not fit; the others scroll horizontally."""
    columns = ("NAME", "STATE", "WORKER")
    rows = tuple((f"connector-{n}" * 4, "RUNNING", "worker " * 4) for n in range(3))
    table = Table(columns, rows, frozenset({"WORKER"}))
    async with console("http://127.0.0.1:1") as seen:
        await seen.until(lambda: seen.home.is_started, "the start")
        seen.app.push_screen(reading.page("get connectors", Result(table=table)))
        await seen.sees("connector-0connector-0", "RUNNING")
        assert "WORKER" not in seen.text and sum("connector-" in line for line in seen.lines) == 3
        seen.app.pop_screen()
        seen.app.push_screen(reading.page("get connectors -o wide", Result(table=table), "wide"))
        await seen.sees("WORKER")
        assert sum("worker" in line for line in seen.lines) == 3 and not seen.text.count("worker worker worker worker")
        await seen.press("right", "right", "right", "right", "right")
        await seen.sees("worker worker worker worker")
        await seen.press("left", "left", "left", "left", "left")
        await seen.sees("connector-0connector-0")


async def test_a_typed_change_concerns_only_the_connectors_in_its_question() -> None:
    """Others that match are created while the question is open."""
    before, after = ["a*", "b-1"], ["a*", "ab", "b-1", "b-2"]
    answers = {"/": {"version": "4.3.0"}, LIST: {name: listed(name) for name in before}, "/connectors": before}
    deleted = {"DELETE /connectors/a%2A": None, "DELETE /connectors/b-1": None}
    async with stub_worker({**answers, **deleted}) as worker, console(worker.url) as seen:
        await seen.sees("b-1", "polling")
        await seen.press("colon", *"delete -e 'a.*|b-.*'", "enter")
        await seen.until(lambda: isinstance(seen.app.screen, Dialog))
        await seen.sees("2 connectors; type 2 to continue")
        worker.answers["/connectors"] = after
        await seen.press("2")
        await seen.confirm("enter")
        await seen.sees("RESULT", "b-1 deleted")
        sent = [path for method, path in worker.seen if method == "DELETE"]
        assert sent == ["/connectors/a%2A", "/connectors/b-1"]


async def test_a_plan_that_changes_while_it_is_confirmed_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Someone else changes a key that the plan would otherwise reset unseen."""
    config = {"connector.class": "a.b.FileStreamSink", "topics": "t", "tasks.max": "1"}
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.json").write_text(json.dumps({"name": "one", "config": {**config, "tasks.max": "2"}}))
    path, validation = "/connectors/one/config", {"error_count": 0, "configs": []}
    answers = {"/": {"version": "4.3.0"}, LIST: {"one": listed("one")}, path: config, f"PATCH {path}": None}
    answers["PUT /connector-plugins/FileStreamSink/config/validate"] = validation
    async with stub_worker(answers) as worker, console(worker.url) as seen:
        await seen.sees("one", "polling")
        await seen.press("colon", *"apply -f one.json", "enter")
        await seen.sees("tasks.max", "y yes")
        worker.answers[path] = {**config, "topics": "changed-by-another-user"}
        await seen.until(lambda: isinstance(seen.app.screen, Dialog) and seen.app.screen.armed)
        await seen.press("y")
        await seen.sees("changed-by-another-user", "the plan has changed since the question")
        assert ("PATCH", path) not in worker.seen
        await seen.confirm("y")
        await worker.received("PATCH", path)


async def test_a_typed_restore_carries_out_what_was_confirmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Someone else changes one connector of the plan, and one that the plan leaves as it is."""
    config = {"connector.class": "a.b.FileStreamSink", "topics": "t", "tasks.max": "1", "name": "one"}
    saved = {name: {"config": {**config, "name": name}, "state": "STOPPED"} for name in ("one", "two")}
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b").write_text(json.dumps({"headrace_backup": 1, "connectors": saved}))
    mine = {"name": "one", "tasks": [], "type": "sink", "config": {**config, "topics": "mine"}}
    answers = {"/": {"version": "4.3.0"}, LIST: {"one": stopped(mine), "two": stopped(saved["two"])}}
    answers |= {f"/connectors/{name}/offsets": {"offsets": []} for name in saved}
    answers["PUT /connector-plugins/FileStreamSink/config/validate"] = {"error_count": 0, "configs": []}
    answers["/connectors/one/status"] = stopped(mine)["status"]
    answers["/connectors/one/config"] = {**config, "topics": "changed-by-another-user"}
    async with stub_worker(answers) as worker, console(worker.url) as seen:
        await seen.sees("one", "polling")
        await seen.press("colon", *"restore b --overwrite", "enter")
        await seen.sees("topics=mine", "2 connectors; type 2 to continue")
        worker.answers[LIST] = {"one": stopped(mine), "two": stopped({**saved["two"], "config": {**config, "a": "b"}})}
        await seen.press("2")
        await seen.confirm("enter")
        await seen.sees("someone else has changed it since it was planned: topics", "two unchanged")
        assert {method for method, path in worker.seen if "validate" not in path} == {"GET"}


def stopped(info: dict[str, Any]) -> dict[str, Any]:
    """The entry of a STOPPED connector in the list."""
    status = {"name": info["config"]["name"], "connector": {"state": "STOPPED", "worker_id": "w:1"}, "tasks": []}
    return {"status": {**status, "type": "sink"}, "info": {"tasks": [], "type": "sink", **info}}


@pytest.mark.parametrize("line", ["get plugins", "delete *"])
async def test_a_typed_command_that_waits_for_a_response_says_so(line: str) -> None:
    """Also one that reads the targets of its question first."""
    answers = {LIST: {"a": listed("a")}, "/": {"version": "4.3.0", "commit": "c", "kafka_cluster_id": "k"}}
    async with stub_worker(answers, fallback=HANG) as worker, console(worker.url) as seen:
        await seen.sees("1 connector")
        seen.home.controller.typed(line)
        await seen.sees(f"… {line}: waiting for a response")
