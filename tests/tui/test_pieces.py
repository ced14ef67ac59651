"""Pieces of the screen on their own, fed with what a server might say."""

from __future__ import annotations

import time
from types import MappingProxyType
from typing import Any

import pytest
from textual import events
from textual.binding import Binding

from tests.tui.console import Console, console
from tui import model
from tui.client.client import ApiCall
from tui.cluster.snapshot import ClusterLink, Diff, LinkState, Notice, Snapshot
from tui.commands.offsets.altering import PatchOffsets
from tui.commands.targets import matches
from tui.config.secrets import is_secret
from tui.formatting import span
from tui.model import Connector
from tui.screens.base import stack_traces
from tui.screens.base.dialog import Dialog
from tui.screens.home import Home
from tui.screens.home.filtering import matcher
from tui.screens.operations.actions import ACTIONS
from tui.screens.services.operations import Operation, Operations, Phase, as_curl
from tui.script.completing import complete, hint
from tui.script.grammar import parse
from tui.widgets.columns import Column, arrange
from tui.widgets.text import fit, visible

NOBODY = "http://127.0.0.1:1"
ODD = [
    "[/oops]",
    "[red]x[/]",
    "a\x1b[2Jb",
    "tab\there",
    "\u202egnp.exe",
    "half\ud800",
    "日本語の" * 12,
    "e\u0301\u0301",
]


def connector(name: str, state: str = "RUNNING", tasks: tuple[str, ...] = ("RUNNING",), **more: Any) -> Connector:
    status = {
        "connector": {"state": state, "worker_id": "w:8083"},
        "tasks": [
            {"id": number, "state": task, "worker_id": "w:8083", "trace": "boom\n\tat [/x]"}
            for number, task in enumerate(tasks)
        ],
        "type": "sink",
    }
    return model.connector(name, status, {"config": {"connector.class": "a.b.FileStreamSink", **more}})


def snapshot(*some: Connector, state: LinkState = LinkState.POLLING) -> Snapshot:
    return Snapshot(MappingProxyType({one.name: one for one in some}), link=ClusterLink(state, time.time()))


async def alone(seen: Console) -> None:
    """The store of a cluster that is not there has said so, and is not listened to any more."""
    await seen.until(lambda: seen.home.services and seen.home.is_stale)
    assert seen.home.services is not None
    seen.home.services.connection.store._subscribers.clear()


def tell(seen: Console, *some: Connector) -> None:
    seen.home.heard(snapshot(*some), Diff(link=True))


@pytest.mark.parametrize("width", [60, 80, 200])
async def test_odd_names_and_traces_are_drawn_as_text(width: int) -> None:
    async with console(NOBODY, width, 30) as seen:
        await alone(seen)
        tell(seen, *(connector(name, tasks=("RUNNING", "FAILED"), key=name) for name in ODD))
        await seen.sees("[/oops]", "[red]x[/]", "a␛[2Jb", "tab␉here", "�gnp.exe", "half�")
        for name in (ODD[0], ODD[2], ODD[5]):
            await seen.go(name)
            await seen.press("enter")
            for page in "12345":
                await seen.press(page)
                assert all(ord(char) >= 32 for line in seen.lines for char in line)
            await seen.press("escape")
        seen.app.screen._compositor.render_strips(seen.app.size)
        "\n".join(seen.lines).encode()  # no half characters, which no terminal could be sent


async def test_the_cursor_belongs_to_the_name() -> None:
    async with console(NOBODY) as seen:
        await alone(seen)
        many = [connector(f"c{number:03}") for number in range(200)]
        tell(seen, *many)
        await seen.go("c150")
        line = next(place for place, line in enumerate(seen.lines) if "c150" in line)
        many[10:20] = [connector(f"c{number:03}", tasks=("FAILED",)) for number in range(10, 20)]
        del many[30:60]
        tell(seen, *many)
        await seen.pilot.pause()
        assert seen.home.connector_list.cursor == "c150"
        assert "c150" in seen.lines[line], "it stays on its line of the screen too"
        tell(seen, *(one for one in many if one.name != "c150"))
        assert seen.home.connector_list.current is None and seen.home.target() is None
        await seen.press("down")
        assert seen.home.connector_list.current == "c151"


async def test_keys_in_one_packet_reach_the_prompt_and_nobody_else() -> None:
    async with console(NOBODY) as seen:
        await alone(seen)
        tell(seen, connector("one"), connector("two"))
        await seen.sees("two")
        for key, character in [("slash", "/"), *((char, char) for char in "two")]:
            seen.app.post_message(events.Key(key, character))
        await seen.until(lambda: seen.home.filter_text == "two")
        assert seen.home.connector_list.keys == ["two"]


async def test_themes_and_palette() -> None:
    async with console(NOBODY) as seen:
        await alone(seen)
        await seen.press("colon", *"theme light", "enter")
        assert seen.app.theme == "headrace-light"
        await seen.press("colon", *"theme pink", "enter")
        await seen.sees("no theme 'pink'")
        await seen.press("ctrl+p")
        await seen.pilot.pause(0.3)
        await seen.press(*"theme mono")
        await seen.sees("theme headrace-mono")
        await seen.press("enter")
        await seen.until(lambda: seen.app.theme == "headrace-mono")


async def test_what_the_worker_says_is_seen() -> None:
    async with console(NOBODY) as seen:
        await alone(seen)
        tell(seen, connector("one"))
        await seen.go("one")
        seen.home.noticed(Notice(1.0, "ERROR", "task 0 is [red]STUCK[/]\nfor 30 s", "one", 0))
        await seen.sees("✗ one task 0: task 0 is [red]STUCK[/] for 30 s")
        await seen.press("enter")
        await seen.sees("notices of the worker", "error task 0: task 0 is [red]STUCK[/]␊for 30 s")
        seen.home.noticed(Notice(2.0, "ERROR", "one-0 is FAILED: a.B: why", "one", 0))
        await seen.sees("✗ one-0 is FAILED: a.B: why")
        seen.home.view.offsets.loaded("one", (), {})
        await seen.press("5")
        await seen.sees("no offsets committed yet; e sets initial offsets")


async def test_quitting_asks_for_text_that_would_be_lost() -> None:
    async with console(NOBODY) as seen:
        await alone(seen)
        one = connector("one", "STOPPED", ())
        tell(seen, one)
        await seen.go("one")
        await seen.press("enter", "5")
        pane = seen.home.view.offsets
        pane.loaded("one", (model.Offset({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": 7}),), {})
        await seen.press("e", "backspace", "3")
        await seen.until(lambda: pane.has_unsaved)
        await seen.press("ctrl+q")
        await seen.sees("quit?", "edited offsets not applied: one")
        await seen.confirm("n")
        assert seen.app.is_running
        seen.home.heard(snapshot(connector("other", "RUNNING", ())), Diff(removed=frozenset({"one"})))
        await seen.sees("one: deleted; the edited text can no longer be applied")
        assert pane.has_unsaved == ["one"] and not seen.app.unsaved, "kept for one of its name, and asked about no more"
        await seen.press("ctrl+q")
        await seen.until(lambda: not seen.app.is_running)


async def test_many_partitions_stay_quick_and_the_question_fits() -> None:
    async with console(NOBODY) as seen:
        await alone(seen)
        tell(seen, connector("one", "STOPPED", (), topics="t"))
        await seen.go("one")
        await seen.press("enter", "5")
        pane = seen.home.view.offsets
        many = [model.Offset({"kafka_topic": "t", "kafka_partition": n}, {"kafka_offset": n}) for n in range(1000)]
        pane.loaded("one", tuple(many), {})
        await seen.press("e")
        await seen.until(lambda: pane.is_editing)
        pane.editor.text = pane.editor.text.replace('"kafka_offset": ', '"kafka_offset": 1')
        began = time.process_time()
        pane.check()
        assert time.process_time() - began < 1.0
        seen.home.snapshot = snapshot(*seen.home.snapshot.connectors.values())
        await seen.press("ctrl+s")
        await seen.until(lambda: isinstance(seen.app.screen, Dialog) and seen.app.screen.armed)
        await seen.sees("cancel", "y yes", "t-0")
        await seen.press("pagedown")
        await seen.until(lambda: "t-0 " not in seen.text)


def test_keys_are_those_of_the_commands() -> None:
    bound = {binding.action: binding.key for binding in Home.BINDINGS if isinstance(binding, Binding)}
    for name, action in ACTIONS.items():
        assert bound[f"act('{name}')"] == action.command.key
    assert bound["edit"] == PatchOffsets.key


def test_what_is_stopped_is_not_paused() -> None:
    assert "is STOPPED" in ACTIONS["pause"].needs(connector("one", "STOPPED", ()))
    assert not ACTIONS["resume"].needs(connector("one", "STOPPED", ()))


def test_a_copied_line_means_the_same_connector() -> None:
    for name in ("orders", "-tz", "--yes", "a b", "it's", "a*[x]", "ü"):
        for action in ACTIONS.values():
            command: Any = parse(action.script_line(connector(name)))
            assert command is not None
            assert matches(name, command.names) and not matches(name + "x", command.names)


def test_filter() -> None:
    one = connector("orders-sink", tasks=("FAILED",))
    assert all(
        matcher(text)(one) for text in ("", "ORD", "state:fail", "type:sink class:file", "-state:run", "worker:w:80")
    )
    assert not any(matcher(text)(one) for text in ("x", "state:run", "-sink", "type:source orders"))


def test_completion() -> None:
    names = ["a b", "demo-sink", "x[1]"]
    assert complete("st", names) == ["stop connector"]
    assert complete("stop connector", names) == ["stop connector "]
    assert complete("stop connector d", names) == ["stop connector demo-sink"]
    assert "stop connector 'a b'" in complete("stop connector ", names)
    assert "stop connector 'x[[]1]'" in complete("stop ", names) or "stop 'x[[]1]'" in complete("stop ", names)
    assert complete("wait connector demo-sink ST", names) == ["wait connector demo-sink STOPPED"]
    assert "get connectors --state FAILED" in complete("get connectors --state ", names)
    assert "demo-sink" in hint("stop connector ", names)
    assert "Stop connectors" in hint("stop connector demo-sink x", names)


def phase(one: Operation) -> Phase:
    return one.phase


def test_operations_run_from_requested_to_observed() -> None:
    now = [100.0]
    heard: list[str] = []
    log = Operations(lambda: now[0], lambda one: heard.append(one.last))
    one = log.begin("stop", "c", goal="STOPPED", lines=("stop connector c",), doing="stopping")
    log.observe(snapshot(connector("c", "STOPPED", ())))
    assert phase(one) is Phase.REQUESTED, "nothing is observed before it was accepted"
    log.accepted(one)
    log.observe(Snapshot({"c": connector("c", "STOPPED", ())}, link=ClusterLink(LinkState.POLLING, 99.0)))
    assert phase(one) is Phase.ACCEPTED, "an answer from before is no observation"
    now[0] = 101.0
    log.observe(Snapshot({"c": connector("c", "STOPPED", ())}, link=ClusterLink(LinkState.POLLING, 101.0)))
    assert phase(one) is Phase.OBSERVED and one.last == "observed: STOPPED, no tasks after 1.0 s"
    two = log.begin("resume", "c", goal="RUNNING", doing="resuming")
    log.accepted(two)
    now[0] += 61
    log.observe(Snapshot({"c": connector("c", "STOPPED", ())}, link=ClusterLink(LinkState.POLLING, now[0])))
    assert two.phase is Phase.TIMED_OUT and "it is STOPPED" in two.last
    three = log.begin("resume", "c", goal="RUNNING", doing="resuming")
    log.accepted(three)
    now[0] += 3
    failed = connector("c", tasks=("FAILED",))
    log.observe(Snapshot({"c": failed}, link=ClusterLink(LinkState.POLLING, now[0])))
    assert three.phase is Phase.FAILED and "0/1 tasks, 1 failed" in three.last
    assert heard[0] == "requested"


def test_curl() -> None:
    call = ApiCall("PATCH", "/connectors/a%20b/offsets", {"offsets": ["it's"]})
    assert as_curl("http://h:1/", call) == (
        "curl -sS -X PATCH http://h:1/connectors/a%20b/offsets -H 'Content-Type: application/json' "
        """-d '{"offsets": ["it'"'"'s"]}'"""
    )
    assert "hunter2" not in as_curl("http://h:1/", ApiCall("PATCH", "/connectors/a/config", {"db.password": "hunter2"}))


def test_columns_drop_by_rank_and_grow_by_need() -> None:
    columns = (Column("a", "A", 10, grows=True), Column("b", "B", 10, rank=2), Column("c", "C", 10, rank=1))
    assert [(one.key, width) for one, width in arrange(columns, {"a": 99}, 40)] == [("a", 16), ("b", 10), ("c", 10)]
    assert [one.key for one, _ in arrange(columns, {}, 30)] == ["a", "c"]
    assert [(one.key, width) for one, width in arrange(columns, {}, 6)] == [("a", 6)]


def test_text() -> None:
    assert fit("orders-postgres-eu-1", 11, middle=True) == "order…-eu-1" and fit("abcd", 1, middle=True) == "…"
    assert fit("日本語日本語", 6, middle=True) == "日…語 " and fit("abc", 3, middle=True) == "abc"
    assert fit("abcdef", 4) == "abc…" and fit("日本語", 5) == "日本…" and fit("日本語", 4) == "日… "
    assert fit("7", 3, right=True) == "  7" and fit("x", 0) == ""
    assert visible("a\nb\x7f\u200b") == "a␊b␡�"
    assert [span(seconds) for seconds in (-1, 59, 60, 3600, 200000)] == ["0 s", "59 s", "1 min", "1 h", "2 d"]


def test_frames_are_shortened_and_nothing_else() -> None:
    frame = "    at org.apache.kafka.connect.runtime.WorkerTask.run(WorkerTask.java:298)"
    assert stack_traces.shortened(frame) == "    at o.a.k.c.r.WorkerTask.run:298"
    inner = "    at java.base/java.util.concurrent.Executors$RunnableAdapter.call(Executors.java:539)"
    assert stack_traces.shortened(inner) == "    at j.u.c.Executors$RunnableAdapter.call:539"
    for line in ("Caused by: a.b.C: no", '  File "x.py", line 3, in at', "at noon"):
        assert stack_traces.shortened(line) == line


def test_secrets() -> None:
    assert is_secret("database.password", "x") and is_secret("sasl.jaas.config", "y")
    assert not is_secret("database.password", "${file:/etc/x:password}") and not is_secret("topics", "x")
