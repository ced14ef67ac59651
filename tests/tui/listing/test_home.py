"""The main screen, fed with snapshots and notices of a cluster that does not exist."""

from __future__ import annotations

import time

import pytest
from textual import events

from tests.support.console.console import detached_console, update
from tests.unit.tui.screens.builders import connector, snapshot
from tui import model
from tui.cluster.snapshot import ClusterLink, Diff, LinkState, Notice
from tui.config import draft
from tui.config.secrets import is_secret
from tui.contexts.profiles import Profile
from tui.formatting import format_duration
from tui.screens.base.copy_menu import CopyMenu
from tui.screens.base.dialog import Dialog
from tui.screens.base.navigation import ConnectorCreated, OpenCluster
from tui.screens.offsets.pane import READING
from tui.script.completing import complete, hint
from tui.widgets.bars import StatusBar, TitleBar
from tui.widgets.columns import Column, arrange
from tui.widgets.jsontext import BEING_APPLIED
from tui.widgets.text import fit, visible

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


@pytest.mark.parametrize("width", [60, 80, 200])
async def test_unusual_names_and_traces_are_drawn_as_text(width: int) -> None:
    async with detached_console(
        *(connector(name, tasks=("RUNNING", "FAILED"), key=name) for name in ODD), width=width, height=30
    ) as seen:
        await seen.sees("[/oops]", "[red]x[/]", "a␛[2Jb", "tab␉here", "�gnp.exe", "half�")
        for name in (ODD[0], ODD[2], ODD[5]):
            await seen.go(name)
            await seen.press("enter")
            for page in "12345":
                await seen.press(page)
                assert all(ord(char) >= 32 for line in seen.lines for char in line)
            await seen.press("escape")
        seen.app.screen._compositor.render_strips(seen.app.size)
        "\n".join(seen.lines).encode()  # no unpaired surrogates, which cannot be sent to a terminal


async def test_the_cursor_follows_the_connector() -> None:
    async with detached_console() as seen:
        many = [connector(f"c{number:03}") for number in range(200)]
        update(seen, *many)
        await seen.go("c150")
        line = next(place for place, line in enumerate(seen.lines) if "c150" in line)
        many[10:20] = [connector(f"c{number:03}", tasks=("FAILED",)) for number in range(10, 20)]
        del many[30:60]
        update(seen, *many)
        await seen.pilot.pause()
        assert seen.home.connector_list.cursor == "c150"
        assert "c150" in seen.lines[line], "the cursor stays on the same line of the screen"
        update(seen, *(one for one in many if one.name != "c150"))
        assert seen.home.connector_list.current is None and seen.home.target() is None
        await seen.press("down")
        assert seen.home.connector_list.current == "c151"


async def test_keys_in_one_packet_reach_only_the_prompt() -> None:
    async with detached_console(connector("one"), connector("two")) as seen:
        await seen.sees("two")
        for key, character in [("slash", "/"), *((char, char) for char in "two")]:
            seen.app.post_message(events.Key(key, character))
        await seen.until(lambda: seen.home.filter_text == "two")
        assert seen.home.connector_list.keys == ["two"]


async def test_the_filter_is_typed_anew_and_from_a_page_on_the_list() -> None:
    async with detached_console(connector("one"), connector("two")) as seen:
        await seen.go("one")
        await seen.press("slash", *"one", "enter", "enter", "7", "slash")
        assert not seen.home.is_detail, "the filter selects rows of the list, so the list is shown"
        await seen.press(*"two")
        await seen.until(lambda: seen.home.connector_list.keys == ["two"])
        await seen.press("enter", "slash", "end", "x")
        await seen.until(lambda: seen.home.filter_text == "twox")


async def test_the_reason_for_polling_does_not_hide_the_cluster() -> None:
    async with detached_console(connector("one")) as seen:
        trouble = "events: Server disconnected without sending a response, and more"
        link = ClusterLink(LinkState.POLLING, time.monotonic(), trouble=trouble)
        seen.home.query_one(TitleBar).set_link(link, time.monotonic(), "4.3.0")
        await seen.sees("headrace http://127.0.0.1:1 ", "● polling (events: Server", "…")


async def test_a_key_that_has_no_effect_says_why() -> None:
    async with detached_console(connector("one")) as seen:
        await seen.press("z")
        await seen.sees("z has no function here; ? shows the keys that have one")
        await seen.press("t")
        await seen.sees("t trace: nothing of this connector has failed")
        await seen.press("slash", *"nothing", "enter", "s")
        await seen.sees("s stop: no connector is selected")
        seen.home.report("an error", "bad")
        await seen.press("z")
        await seen.pilot.pause()
        assert (seen.home.status.text, seen.home.status.kind) == ("an error", "bad")
        seen.home.report("")
        await seen.press("L")
        await seen.sees("loggers of", "cannot reach")
        seen.app.screen.query_one(StatusBar).report("")
        await seen.press("s")
        await seen.sees("s has no function here")
        await seen.press("escape", "C", "ctrl+g")
        await seen.sees("clusters", "^g has no function here")


async def test_a_configured_key_that_has_no_effect_says_why() -> None:
    async with detached_console(connector("one")) as seen:
        seen.app.set_keymap({"stop": "X", "trace": "Z"})
        await seen.press("s")
        await seen.sees("s has no function here")
        await seen.press("Z")
        await seen.sees("Z trace: nothing of this connector has failed")


async def test_an_unknown_value_of_the_filter_is_an_error() -> None:
    async with detached_console(connector("one"), connector("two")) as seen:
        await seen.press("slash", *"-state:runing", "enter")
        await seen.sees("2 of 2 connectors", "✗ -state:runing: runing is not a state (did you mean running?)")
        await seen.press("escape")
        await seen.until(lambda: "runing" not in seen.text)
        await seen.press("slash", *"state:runing")
        await seen.sees("state:runing: runing is not a state", "choose from failed, unassigned", "esc shows all")


async def test_a_note_about_the_filter_is_gone_once_it_no_longer_applies() -> None:
    async with detached_console(connector("one", topics="t")) as seen:
        seen.home.filter_by("topic:u")
        assert seen.home.status.text == "topic:u: no connector has the topic u" and seen.home.status.kind == "info"
        update(seen, connector("one", topics="u"))
        seen.home.filter_by("topic:u")
        assert seen.home.status.text == ""


async def test_themes_and_palette() -> None:
    async with detached_console() as seen:
        await seen.press("colon", *"theme light", "enter")
        assert seen.app.theme == "headrace-light"
        await seen.press("colon", *"theme pink", "enter")
        await seen.sees("unknown theme 'pink'")
        await seen.press("ctrl+p")
        await seen.pilot.pause(0.3)
        await seen.press(*"theme mono")
        await seen.sees("theme mono")
        await seen.press("enter")
        await seen.until(lambda: seen.app.theme == "headrace-mono")


async def test_notices_of_the_worker_are_shown() -> None:
    async with detached_console(connector("one")) as seen:
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


async def test_quitting_asks_if_edited_text_would_be_lost() -> None:
    async with detached_console() as seen:
        one = connector("one", "STOPPED", ())
        update(seen, one)
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
        seen.home.take_snapshot(snapshot(connector("other", "RUNNING", ())), Diff(removed=frozenset({"one"})))
        await seen.sees("one: deleted; the edited text can no longer be applied")
        assert pane.has_unsaved == ["one"] and not seen.app.unsaved, (
            "the text is kept for a connector of the same name, and quitting no longer asks about the text"
        )
        update(seen, connector("one", "STOPPED", ()))
        await seen.until(lambda: "can no longer be applied" not in seen.text)
        seen.home.take_snapshot(snapshot(connector("other", "RUNNING", ())), Diff(removed=frozenset({"one"})))
        await seen.press("ctrl+q")
        await seen.until(lambda: not seen.app.is_running)


async def test_an_edited_text_is_not_applied_to_a_connector_that_someone_else_has_stopped_or_deleted() -> None:
    async with detached_console(connector("one")) as seen:
        await seen.go("one")
        await seen.press("enter", "5")
        offset = model.Offset({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": 7})
        seen.home.view.offsets.loaded("one", (offset,), {})
        await seen.press("e", "backspace", "3", "ctrl+s")
        await seen.sees("alter the offsets of one?")
        update(seen, connector("one", "STOPPED", ()))
        await seen.confirm("y")
        await seen.sees("not sent: one is STOPPED now, not RUNNING; the text is kept")
        seen.home.take_snapshot(snapshot(connector("other")), Diff(removed=frozenset({"one"})))
        await seen.home.view.config.controller.apply(draft.of("one", {"k": "1"}), connector("one"))
        await seen.sees("not sent: one was deleted; the text is kept")


async def test_the_editor_opens_with_offsets_that_are_not_old_and_says_when_it_is_locked() -> None:
    async with detached_console(connector("one", "STOPPED", ())) as seen:
        await seen.go("one")
        await seen.press("enter", "5")
        pane = seen.home.view.offsets
        old, new = (model.Offset({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": n}) for n in (7, 8))
        pane.loaded("one", (old,), {})
        pane._asking.add("one")  # a request is under way
        pane.read_at -= 60
        await seen.press("e")
        await seen.sees(READING)
        assert not pane.is_editing
        pane.loaded("one", (new,), {})
        await seen.until(lambda: pane.is_editing and '"kafka_offset": 8' in pane.editor.text)
        await seen.press("3")
        await seen.until(lambda: pane.drafts["one"].is_touched)
        pane.applying("one")
        await seen.press("4")
        await seen.sees(BEING_APPLIED)
        assert "edit offsets" not in seen.text and "834" not in pane.editor.text
        await seen.press("ctrl+y")
        assert isinstance(seen.app.screen, CopyMenu)


async def test_offsets_that_cannot_be_read_open_the_editor_with_old_ones_only_where_it_was_asked_for() -> None:
    async with detached_console(connector("one", "STOPPED", ())) as seen:
        await seen.go("one")
        await seen.press("enter", "5")
        pane = seen.home.view.offsets
        pane.loaded("one", (model.Offset({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": 7}),), {})
        pane._asking.add("one")  # a request is under way
        pane.read_at -= 60
        await seen.press("e")
        await seen.sees(READING)
        await seen.press("1")
        pane.unreadable("one", "cannot reach w")
        await seen.until(lambda: READING not in seen.text)
        assert not pane.is_editing, "the page is not shown"
        await seen.press("5")
        pane.unreadable("one", "cannot reach w")
        await seen.pilot.pause()
        assert not pane.is_editing, "the key was pressed before the page was left"
        await seen.press("e")
        await seen.sees(READING)  # again, although the last read failed
        assert not pane.is_editing
        pane.unreadable("one", "cannot reach w")
        await seen.until(lambda: pane.is_editing and '"kafka_offset": 7' in pane.editor.text)
        await seen.sees("read 1 min ago; reading again failed: cannot reach w")


async def test_offsets_are_not_read_for_the_editor_without_a_connector() -> None:
    async with detached_console() as seen:
        pane = seen.home.view.offsets
        assert pane.connector is None
        pane.edit()
        assert seen.home.status.text != READING


async def test_many_partitions_are_edited_without_delay() -> None:
    async with detached_console(connector("one", "STOPPED", (), topics="t")) as seen:
        await seen.go("one")
        await seen.press("enter", "5")
        pane = seen.home.view.offsets
        many = [model.Offset({"kafka_topic": "t", "kafka_partition": n}, {"kafka_offset": n}) for n in range(1000)]
        pane.loaded("one", tuple(many), {})
        await seen.press("e")
        await seen.until(lambda: pane.is_editing)
        pane.editor.text = pane.editor.text.replace('"kafka_offset": ', '"kafka_offset": 1')
        began = time.thread_time()
        pane.check()
        assert time.thread_time() - began < 1.0
        seen.home.snapshot = snapshot(*seen.home.snapshot.connectors.values())
        await seen.press("ctrl+s")
        await seen.until(lambda: isinstance(seen.app.screen, Dialog) and seen.app.screen.armed)
        await seen.sees("cancel", "y yes", "t-0")
        await seen.press("pagedown")
        await seen.until(lambda: "t-0 " not in seen.text)


def test_commands_and_names_are_completed() -> None:
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


def test_columns_are_hidden_by_rank_and_widened_for_their_content() -> None:
    columns = (Column("a", "A", 10, grows=True), Column("b", "B", 10, rank=2), Column("c", "C", 10, rank=1))
    assert [(one.key, width) for one, width in arrange(columns, {"a": 99}, 40)] == [("a", 16), ("b", 10), ("c", 10)]
    assert [one.key for one, _ in arrange(columns, {}, 30)] == ["a", "c"]
    assert [(one.key, width) for one, width in arrange(columns, {}, 6)] == [("a", 6)]


def test_text_is_fitted_to_a_width() -> None:
    assert fit("orders-postgres-eu-1", 11, middle=True) == "order…-eu-1" and fit("abcd", 1, middle=True) == "…"
    assert fit("日本語日本語", 6, middle=True) == "日…語 " and fit("abc", 3, middle=True) == "abc"
    assert fit("abcdef", 4) == "abc…" and fit("日本語", 5) == "日本…" and fit("日本語", 4) == "日… "
    assert fit("7", 3, right=True) == "  7" and fit("x", 0) == ""
    assert visible("a\nb\x7f\u200b") == "a␊b␡�"
    durations = map(format_duration, (-1, 59, 60, 3600, 200000))
    assert list(durations) == [
        "0 s",
        "59 s",
        "1 min",
        "1 h",
        "2 d",
    ]


def test_secret_keys_are_recognized_unless_they_are_references() -> None:
    assert is_secret("database.password", "x") and is_secret("sasl.jaas.config", "y")
    assert not is_secret("database.password", "${file:/etc/x:password}") and not is_secret("topics", "x")


async def test_the_page_of_a_created_connector_opens_when_it_is_listed() -> None:
    async with detached_console(connector("one")) as seen:
        seen.app.post_message(ConnectorCreated("two"))
        await seen.pilot.pause()
        assert not seen.home.is_detail
        update(seen, connector("one"), connector("two"))
        await seen.until(lambda: seen.home.is_detail and seen.home.view.name_shown == "two", "the page")


async def test_a_message_of_the_main_screen_opens_another_cluster() -> None:
    async with detached_console() as seen:
        previous = seen.home
        previous.post_message(OpenCluster(Profile("http://127.0.0.1:2", "other"), "other is the current context"))
        await seen.until(lambda: seen.app.profile.name == "other" and seen.app.screen is seen.home, "the other cluster")
        await seen.until(lambda: seen.home.status.text == "other is the current context", "the text")
        previous.post_message(OpenCluster(previous.profile))
        await seen.until(lambda: seen.app.screen is previous, "the first cluster")


async def test_a_wider_column_moves_all_lines() -> None:
    """Also those whose text has not changed."""
    async with detached_console() as seen:
        few = [connector(f"orders-{number:02}") for number in range(30)]
        update(seen, *few)
        await seen.pilot.pause(0.3)  # everything is drawn
        longest = "z-with-a-long-name-below-the-screen"
        more_tasks = connector("orders-03", tasks=("RUNNING", "RUNNING"))
        update(seen, *few[:3], more_tasks, *few[4:-1], connector(longest))
        await seen.sees("2/2")
        await seen.pilot.pause()
        rows = [line for line in seen.lines if "orders-" in line]
        heading = next(line for line in seen.lines if "NAME" in line)
        assert {line.index("RUNNING") for line in rows} == {heading.index("STATE") + 2}
