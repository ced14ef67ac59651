"""The offsets page with a stub worker: age of offsets, kept drafts, outdated status lines."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.console.console import Console, console
from tests.support.servers.stub_worker import HANG, LIST, Raw, listed, stub_worker
from tui.screens.base.banner import Banner
from tui.screens.base.pane import Note
from tui.screens.services.operations import Phase

pytestmark = pytest.mark.usefixtures("own_folders")

DETAIL = "/connectors/one/offsets?detail=true"


def at(*positions: int) -> Any:
    return {
        "offsets": [
            {"partition": {"kafka_topic": "t", "kafka_partition": number}, "offset": {"kafka_offset": position}}
            for number, position in enumerate(positions)
        ]
    }


def answers(*positions: int, state: str = "RUNNING") -> dict[str, Any]:
    some = {name: listed(name, state) for name in ("one", "two")}
    return {LIST: some, "/": {"version": "4.3.0"}, DETAIL: at(*positions)}


async def opened(seen: Console, name: str = "one") -> None:
    await seen.sees(name, "polling")
    await seen.go(name)
    await seen.press("enter", "5")
    await seen.sees("t-0", "offset")


@pytest.mark.parametrize(
    "later", [Raw(b'{"message":"the broker is unavailable"}', 500), HANG], ids=["refused", "silent"]
)
async def test_outdated_offsets_show_their_age(later: Any) -> None:
    async with stub_worker(answers(10)) as worker, console(worker.url) as seen:
        await opened(seen)
        seen.home.view.offsets.fetch_every(0.2)
        assert "ago" not in seen.text
        worker.answers[DETAIL] = later
        await seen.sees("read 0 s ago", "the broker is unavailable" if later is not HANG else "t-0")
        asked = worker.seen.count(("GET", DETAIL))
        await seen.pilot.pause(0.6)
        if later is HANG:
            assert worker.seen.count(("GET", DETAIL)) <= asked + 1, "one request at a time"
        worker.answers[DETAIL] = at(20)
        if later is not HANG:
            await seen.until(lambda: "20" in seen.text and "ago" not in seen.text)


async def test_a_kept_draft_is_compared_with_the_current_offsets() -> None:
    async with stub_worker(answers(10, 10)) as worker, console(worker.url) as seen:
        await opened(seen)
        await seen.press("e", "backspace", "5")
        await seen.sees("would change 1 partition", "10 → offset 15")
        await seen.press("escape")
        worker.answers[DETAIL] = at(30, 40)
        await seen.until(
            lambda: seen.home.view.offsets.offsets and seen.home.view.offsets.offsets[0].offset == {"kafka_offset": 30}
        )
        await seen.press("e")
        await seen.sees("would change 1 partition", "offset 30 → offset 15", "compared with the current offsets")
        assert '{"kafka_offset": 40}' in seen.home.view.offsets.editor.text, (
            "unedited offsets keep their current values"
        )


async def test_a_kept_config_is_compared_with_the_current_config() -> None:
    async with stub_worker(answers(10)) as worker, console(worker.url) as seen:
        await seen.sees("one", "polling")
        await seen.go("one")
        await seen.press("enter", "3", "e")
        await seen.until(lambda: seen.home.view.config.is_editing)
        pane = seen.home.view.config
        pane.editor.load_text(pane.editor.text.replace('"topics": "t"', '"topics": "u"'))
        await seen.until(lambda: pane.has_unsaved)
        await seen.press("escape")
        worker.answers[LIST] = {"one": listed("one", config={"tasks.max": "7"})}
        await seen.press("f5")
        await seen.until(lambda: "tasks.max" in seen.home.snapshot.connectors["one"].config)
        await seen.press("e")
        await seen.until(lambda: '"topics": "u"' in pane.editor.text and '"tasks.max": "7"' in pane.editor.text)
        assert pane.drafts["one"].review().changes[0].key == "topics" and len(pane.drafts["one"].review().changes) == 1


async def test_a_read_only_context_offers_no_changes_on_any_page() -> None:
    async with stub_worker(answers(10)) as worker, console(worker.url, 200, 30, read_only=True) as seen:
        await opened(seen)
        assert "set by time" not in seen.lines[-1]
        await seen.press("e")
        await seen.sees("F5 start over", "esc back")
        assert "^s" not in seen.lines[-1]
        await seen.press("backspace", "7", "ctrl+s")
        await seen.sees("altering offsets refused: the context")
        await seen.press("escape", "3", "e")
        await seen.sees("F3 JSON/key=value")
        assert "^s" not in seen.lines[-1]
        await seen.press("escape", "6")
        await seen.sees("TOPIC")
        assert "x reset" not in seen.lines[-1]


async def test_quitting_asks_in_a_terminal_that_is_too_small() -> None:
    async with stub_worker(answers(10)) as worker, console(worker.url) as seen:
        await opened(seen)
        await seen.press("e", "backspace", "7")
        await seen.until(lambda: seen.home.view.offsets.has_unsaved)
        await seen.pilot.resize_terminal(40, 10)
        await seen.sees("too small")
        await seen.press("q")
        await seen.sees("quit? y/n", "edited offsets not applied: one")
        await seen.press("n")
        await seen.sees("too small")
        await seen.press("y")
        assert seen.app.is_running and seen.app.return_code is None, "the key had no effect"
        await seen.press("q", "y")
        await seen.until(lambda: seen.app.return_code == 0)


async def test_a_long_error_can_be_read_completely(monkeypatch: pytest.MonkeyPatch) -> None:
    """The advice that follows the error is shown, too."""
    async with stub_worker({LIST: Raw(b"<html>" + b"x" * 40, 404)}) as worker, console(worker.url) as seen:
        await seen.sees("stale: HTTP 404", "is this the URL of a Connect worker?")
    long = "http://" + "a-host-with-a-very-long-name." * 3 + "invalid:8083"
    async with console(long) as seen:
        await seen.sees("unreachable: http://a-host-with", "invalid:8083:")
        await seen.until(lambda: "not known" in seen.text or "resolution" in seen.text or "resolve" in seen.text)


async def test_the_overview_of_a_source_shows_that_its_file_is_missing() -> None:
    one = listed("one", config={"connector.class": "FileStreamSource", "file": "/nope"})
    one["status"]["type"] = "source"
    line = {
        "time": 1_790_000_000_000,
        "level": "WARN",
        "task": 0,
        "message": "/nope does not exist; waiting for it",
    }
    some = {LIST: {"one": one}, "/": {"version": "4.3.0", "commit": "headrace-1"}, DETAIL: {"offsets": []}}
    some["/connectors/one/logs?lines=50"] = [line]
    async with stub_worker(some) as worker, console(worker.url) as seen:
        await seen.sees("one", "polling", "Connect 4.3.0")
        await seen.go("one")
        await seen.press("enter", "1")
        await seen.sees("/nope does not exist; waiting for it")


async def test_a_dead_letter_topic_is_not_shown_as_unused() -> None:
    """Workers do not track the use of dead letter topics."""
    config = {"errors.deadletterqueue.topic.name": "dlq"}
    some = {**answers(10), LIST: {"one": listed("one", config=config)}}
    some["/connectors/one/topics"] = {"one": {"topics": []}}
    async with stub_worker(some) as worker, console(worker.url) as seen:
        await seen.sees("one", "polling")
        await seen.go("one")
        await seen.press("enter", "6")
        await seen.sees("read, not used yet", "dlq dead letters")
        assert "dead letters, not used yet" not in seen.text


async def test_status_lines_end_with_their_cause() -> None:
    async with stub_worker(answers(10)) as worker, console(worker.url, 140, 30) as seen:
        await opened(seen)
        await seen.press("e", "x", "ctrl+s")
        await seen.sees("not applied: fix line")
        await seen.press("backspace")  # the cursor is still after the x
        await seen.until(lambda: seen.home.status.text == "", "the message to be cleared")
        await seen.press("ctrl+s")
        await seen.sees("nothing would change")
        await seen.press("backspace", "7")
        await seen.until(lambda: seen.home.status.text == "", "the message to be cleared")
        await seen.press("escape")
        await seen.sees("the text is kept")
        await seen.press("escape")
        await seen.go("two")
        await seen.press("enter")
        await seen.until(lambda: seen.home.view.name_shown == "two" and seen.home.status.text == "", "another's page")
        await seen.press("escape")
        await seen.go("one")
        await seen.press("enter", "5", "e")
        await seen.sees("restored your text")
        await seen.press("f5")
        await seen.sees("the edits were discarded; ^Z brings them back")
        assert not seen.home.view.offsets.has_unsaved
        await seen.press("ctrl+z")
        await seen.until(lambda: seen.home.view.offsets.has_unsaved, "the edits are back")
        await seen.press("f5")
        await seen.until(lambda: not seen.home.view.offsets.has_unsaved, "started over")
        await seen.press("ctrl+y", "ctrl+z")
        seen.home.report("an answer to some key", "bad")
        await seen.press("escape", "escape", "f5")
        await seen.until(lambda: seen.home.status.text == "")


async def test_start_over_keeps_the_text_until_the_offsets_have_been_read() -> None:
    async with stub_worker(answers(10)) as worker, console(worker.url) as seen:
        await opened(seen)
        await seen.press("e")
        await seen.sees("no change yet")
        await seen.press("backspace")
        editor = seen.home.view.offsets.editor
        await seen.until(lambda: '"kafka_offset": 1}' in editor.text)
        worker.answers[DETAIL] = Raw(b'{"message":"the broker is unavailable"}', 500)
        await seen.press("f5")
        await seen.sees("the text is kept: the broker is unavailable")
        await seen.press("5")
        await seen.until(lambda: '"kafka_offset": 15}' in editor.text)
        worker.answers[DETAIL] = at(20)
        await seen.press("f5")
        await seen.until(lambda: '"kafka_offset": 20}' in editor.text)
        worker.answers[DETAIL] = Raw(b" " * 40, chunk=1, pause=0.1)  # slow
        await seen.press("backspace", "f5", "7")
        await seen.press("escape")
        await seen.sees("the text is kept; e continues editing")
        assert '"kafka_offset": 2}' in editor.text


async def test_an_editor_opened_again_while_its_change_is_applied_loses_no_edit() -> None:
    some = answers(10, state="STOPPED") | {"/connectors/one/offsets": at(10)}
    some["PATCH /connectors/one/offsets"] = HANG
    async with stub_worker(some) as worker, console(worker.url) as seen:
        await opened(seen)
        pane = seen.home.view.offsets
        await seen.press("e", "backspace", "5", "ctrl+s")
        await seen.confirm("y")
        await worker.received("PATCH", "/connectors/one/offsets")
        await seen.press("escape", "e", "7")
        assert pane.editor.read_only and pane.drafts["one"].review().changes[0].after == {"kafka_offset": 15}
        await seen.sees("is being applied")
        await seen.press("escape")
        assert not pane.is_editing


async def test_a_config_editor_opened_again_while_its_change_is_applied_loses_no_edit() -> None:
    some = answers(10) | {"/connectors/one/config": listed("one")["info"]["config"]}
    some["PUT /connector-plugins/FileStreamSink/config/validate"] = {"error_count": 0, "configs": []}
    some["PATCH /connectors/one/config"] = HANG
    async with stub_worker(some) as worker, console(worker.url) as seen:
        await seen.sees("one", "polling")
        await seen.go("one")
        await seen.press("enter", "3", "e")
        pane = seen.home.view.config
        await seen.until(lambda: pane.is_editing)
        pane.editor.load_text(pane.editor.text.replace('"topics": "t"', '"topics": "u"'))
        await seen.until(lambda: pane.has_unsaved)
        await seen.press("ctrl+s")
        await seen.confirm("y")
        await worker.received("PATCH", "/connectors/one/config")
        text = pane.editor.text
        await seen.press("escape", "e", "7")
        assert pane.is_editing and pane.editor.read_only and pane.editor.text == text
        await seen.sees("is being applied")


async def test_offsets_that_differ_after_reading_back_are_a_failure_that_a_small_banner_shows() -> None:
    message = (
        "The Connect framework-managed offsets for this connector have been altered successfully. However, if this "
        "connector manages offsets externally, they will need to be manually altered in the system that it uses."
    )
    some = answers(10, state="STOPPED") | {"/connectors/one/offsets": at(10)}
    some["PATCH /connectors/one/offsets"] = {"message": message}
    async with stub_worker(some) as worker, console(worker.url, 60, 20) as seen:
        await opened(seen)
        await seen.press("e", "backspace", "5", "ctrl+s")
        await seen.confirm("y")
        await seen.sees("! possible success", "after reading back, 1 offset differs from the request")
        (operation,) = seen.home.operations.log
        assert operation.phase is Phase.FAILED
        assert operation.last == "after reading back, 1 of 1 offsets differ from the request"
        banner = seen.home.view.offsets.query_one(Banner)
        assert "requested, but not read back:" not in seen.text
        banner.scroll_end(animate=False)
        await seen.sees("requested, but not read back:", "~ t-0 offset 10 → offset 15")


async def test_a_banner_is_gone_once_a_deleted_connector_was_created_again() -> None:
    some = answers(10, state="STOPPED") | {"/connectors/one/offsets": at(10)}
    some["PATCH /connectors/one/offsets"] = Raw(b'{"error_code":400,"message":"refused by the test"}', 400)
    async with stub_worker(some) as worker, console(worker.url) as seen:
        await opened(seen)
        await seen.press("e", "backspace", "5", "ctrl+s")
        await seen.confirm("y")
        await seen.sees("refused by the test")
        await seen.press("escape")
        assert seen.home.services is not None
        store = seen.home.services.connection.store
        there, worker.answers[LIST] = worker.answers[LIST], {}
        store.refresh()
        assert "U undo delete" not in seen.text
        await seen.sees("does not exist any more", "U undo delete")
        assert seen.home.view.offsets.query_one(Banner).display
        worker.answers[LIST] = there
        store.refresh()
        await seen.until(lambda: not seen.home.view.offsets.query_one(Banner).display, "no banner")
        await seen.sees("t-0", " 10 ")


async def test_a_partition_that_the_table_cuts_is_shown_in_full() -> None:
    paths = [f"/data/{'d' * 90}/file-{number}.csv" for number in range(2)]
    some = answers(10, state="STOPPED")
    some[DETAIL] = {"offsets": [{"partition": {"path": path}, "offset": {"pos": 1}} for path in paths]}
    async with stub_worker(some) as worker, console(worker.url) as seen:
        await seen.sees("one", "polling")
        await seen.go("one")
        await seen.press("enter", "5")
        await seen.until(lambda: paths[0] in "".join(seen.text.split()), "the first partition")
        await seen.press("down")
        await seen.until(lambda: paths[1] in "".join(seen.text.split()), "the second one")
        worker.answers[DETAIL] = at(10)
        await seen.press("f5")
        await seen.sees("t-0")
        assert not seen.home.view.offsets.reading.query_one(Note).display, "nothing is cut"
