"""The status line: results of operations, and notices that are cleared when their cause has ended."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.console.console import Console, detached_console, update
from tests.support.console.snapshot import recorded
from tests.unit.tui.screens.builders import connector, snapshot
from tui.cluster.snapshot import Diff, LinkState, Notice
from tui.screens.home import updates
from tui.screens.home.base import StatusText
from tui.screens.services.operations import Operations
from tui.widgets.tabs import Tabs


def status(seen: Console) -> tuple[str, str]:
    return seen.home.status.text, seen.home.status.kind


async def typed(seen: Console, line: str) -> None:
    """Enters the whole line at once."""
    await seen.until(lambda: seen.home.services and seen.home.connector_list.keys, "the list")
    assert seen.home.services is not None
    seen.home.controller.typed(line)


async def test_the_result_of_a_wait_is_shown() -> None:
    async with recorded(80, 24) as seen:
        await typed(seen, "wait audit-log PAUSED")
        await seen.until(lambda: status(seen) == ("audit-log: PAUSED", "good"), "the end")
        await typed(seen, "wait audit-log RUNNING --timeout 200ms")
        await seen.until(lambda: status(seen)[1] == "bad", "the end")
        assert status(seen)[0] == "audit-log: not RUNNING within 0.2 s: PAUSED, tasks 0/1"


async def test_a_written_document_is_reported_as_done(tmp_path: Path) -> None:
    async with recorded(80, 24) as seen:
        file = tmp_path / "offsets.json"
        await typed(seen, f"export offsets payments-log -f {file}")
        await seen.until(lambda: status(seen) == (f"1 offset of 1 connector, written to {file}", "info"), "the end")
        assert seen.app.screen is seen.home, "no empty page is opened"


def failed(seen: Console, name: str) -> None:
    update(seen, connector("one"), connector("two"), *(connector(n, tasks=("FAILED",)) for n in (name,)))
    seen.home.noticed(Notice(0.0, "ERROR", f"{name} is FAILED: Boom", name))


async def test_a_notice_is_cleared_with_its_cause() -> None:
    async with detached_console() as seen:
        failed(seen, "bad")
        assert status(seen) == ("bad is FAILED: Boom", "bad")
        update(seen, connector("one"), connector("bad", tasks=("FAILED",), key="changed"))
        assert status(seen)[0], "the connector is still FAILED"
        update(seen, connector("one"), connector("bad"))
        assert status(seen) == ("", ""), "the connector recovered"
        failed(seen, "bad")
        update(seen, connector("one"))
        assert status(seen) == ("", ""), "the connector was deleted"
        seen.home.report("bad: no such file", "bad")  # the result of a key press
        update(seen, connector("one"), connector("bad"))
        update(seen, connector("one"))
        assert status(seen)[0] == "bad: no such file"


async def test_a_page_shows_no_notices_of_other_connectors() -> None:
    async with detached_console() as seen:
        failed(seen, "bad")
        await seen.go("bad")
        await seen.press("enter")
        assert status(seen)[0] == "bad is FAILED: Boom", "its own page"
        await seen.press("escape")
        assert status(seen)[0]
        await seen.go("one")
        await seen.press("enter")
        assert status(seen)[0] == "", "the page of another connector"
        failed(seen, "bad")
        assert status(seen)[0] == ""
        seen.home.noticed(Notice(0.0, "ERROR", "the worker stops"))
        assert status(seen)[0] == "the worker stops", "notices without a connector are shown on every page"


async def test_the_warning_of_an_outage_is_cleared_when_it_ends() -> None:
    async with detached_console() as seen:
        seen.home.take_snapshot(snapshot(connector("one"), state=LinkState.LOST), Diff(link=True))
        assert seen.home.services is not None
        assert not seen.home.may_send(change=True)
        assert status(seen) == ("the cluster does not respond: nothing is sent until it is back", "warn")
        seen.home.take_snapshot(snapshot(connector("one"), state=LinkState.LOST), Diff(link=True))
        assert status(seen)[0]
        update(seen, connector("one"))
        assert status(seen) == ("", "")
        seen.home.take_snapshot(snapshot(connector("one"), state=LinkState.LOST), Diff(link=True))
        assert not seen.home.view.services.may_change("altering offsets")
        assert status(seen)[0].startswith("the cluster does not respond")
        update(seen, connector("one"))
        assert status(seen) == ("", "")


async def test_a_refusal_belongs_to_the_page_on_which_it_arose() -> None:
    async with detached_console(connector("one"), connector("two"), read_only=True) as seen:
        await seen.go("one")
        for refuse in (
            lambda: seen.home.controller.typed("stop one"),
            lambda: seen.home.controller.typed("stop one --unknown"),
            lambda: seen.home.view.services.may_change("altering offsets"),
        ):
            for leave in ("enter", "2", "click", "escape"):
                refuse()
                assert status(seen)[1] == "bad"
                update(seen, connector("one"), connector("two"))
                assert status(seen)[1] == "bad", "a new snapshot does not clear it"
                if leave == "click":
                    await seen.pilot.click(Tabs, offset=(1, 0))
                    await seen.until(lambda: seen.home.view.page == "overview")
                else:
                    await seen.press(leave)
                assert status(seen) == ("", ""), leave


async def test_notices_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    async with detached_console() as seen:
        failed(seen, "bad")
        seen.home.tick()
        assert status(seen)[0]
        old = time.monotonic() - updates.NOTICE_SHOWN - 1
        seen.home.status = seen.home.status._replace(at=old)
        seen.home.tick()
        assert status(seen) == ("", "")
        seen.home.report("not an answer that goes", "bad")
        seen.home.status = StatusText(*seen.home.status[:2], old)
        seen.home.tick()
        assert status(seen)[0], "the result of a key press remains until the next key"


def test_a_pause_reports_tasks_that_stay_failed() -> None:
    status: list[str] = []
    operations = Operations(lambda one: status.append(one.last), lambda: 0.0)
    for name in ("bad", "good"):
        operations.accepted(operations.begin("pause", name, goal="PAUSED", doing="pausing"))
    some = connector("bad", "PAUSED", ("FAILED",)), connector("good", "PAUSED", ("PAUSED",))
    operations.observe(snapshot(*some))
    assert status[-2:] == [
        "observed: PAUSED; 1 task stays FAILED after 0.0 s",
        "observed: PAUSED, 0/1 tasks after 0.0 s",
    ]


async def test_a_read_only_cluster_offers_no_changes() -> None:
    async with recorded(200, 24) as seen:  # a recording
        await seen.until(lambda: seen.home.services and seen.home.connector_list.keys, "the list")
        await seen.go("orders-log")
        await seen.until(lambda: "t trace" in seen.lines[-1] or "/ filter" in seen.lines[-1], "the keys")
        for key in ("s stop", "p pause", "R restart", "e edit", "D delete", "b bulk", "space mark"):
            assert key not in seen.lines[-1]
        await seen.press("s")
        await seen.sees("a recording is read-only")


async def test_a_refusal_remains_until_another_connector_is_shown() -> None:
    """Also when the page beside the list shows the connector only after its key was refused."""
    async with recorded(200, 24) as seen:
        await seen.until(lambda: seen.home.services and seen.home.connector_list.keys, "the list")
        await seen.go("orders-log")
        await seen.until(lambda: seen.home.view.name_shown == "orders-log")
        seen.home.connector_list.go("stock")
        seen.home.is_refused("stop")
        await seen.until(lambda: seen.home.view.name_shown == "stock")
        await seen.sees("a recording is read-only")
        await seen.go("orders-log")
        await seen.until(lambda: seen.home.view.name_shown == "orders-log")
        assert "read-only" not in seen.home.status.text


async def test_results_wait_until_the_prompt_is_closed() -> None:
    async with recorded(80, 24) as seen:
        await seen.until(lambda: seen.home.services and seen.home.connector_list.keys, "the list")
        await seen.press("colon", *"inf")
        await typed(seen, "get plugins")
        await seen.pilot.pause(0.5)
        assert seen.app.screen is seen.home and seen.home.command_line.is_open
        await seen.press("o", "escape")
        await seen.until(lambda: seen.app.screen is not seen.home, "the result")
        await seen.sees(":get plugins", "FileStreamSource")


async def test_the_result_of_a_copy_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    with TemporaryDirectory() as folder:  # its path is shorter than a line, unlike that of tmp_path
        monkeypatch.setenv("XDG_STATE_HOME", folder)
        monkeypatch.setenv("TMUX", f"{folder}/no-socket,1,0")
        async with recorded(80, 24) as seen:
            await seen.until(lambda: seen.home.services and seen.home.connector_list.keys, "the list")
            operation = seen.home.operations.begin("stop", "orders-log", lines=("stop orders-log",), doing="stopping")
            seen.home.operations.done(operation, "done")
            await seen.press("o")
            await seen.sees("operations of this session")
            await seen.press("y")
            await seen.sees("tmux does not allow access", f"written to {folder}/headrace/copied.txt")
