"""The offset editor: checked while typing, shown as a difference, refused after a conflict, applied, undone."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from tests.support.console.console import Console, console
from tests.support.servers.forwarder import Forwarder
from tests.support.waiting import wait_until
from tests.tui.conftest import Cluster
from tui.offsets.changes import ChangeKind, OffsetChange
from tui.offsets.pending_changes import ChangeStep, PendingChange
from tui.offsets.plan import OffsetPlan
from tui.screens.base.banner import Banner
from tui.screens.base.dialog import Dialog
from tui.screens.offsets.interrupted_changes import InterruptedDialog, described
from tui.widgets.pager import Pager


async def edit(seen: Console, name: str) -> None:
    """Opens the editor and waits for the text."""
    await seen.go(name)
    await seen.press("e")
    await seen.until(lambda: seen.home.view.offsets.is_editing, "the editor")


async def write(seen: Console, old: str, new: str) -> None:
    """Replaces text in the editor and waits for the check."""
    editor = seen.home.view.offsets.editor
    editor.text = editor.text.replace(old, new)
    await seen.until(lambda: seen.home.view.offsets.drafts[seen.home.view.name_shown or ""].text == editor.text)


def review(seen: Console) -> str:
    return seen.home.view.offsets.query_one("#review", Pager).content.plain


async def test_syntax_shape_and_difference_while_typing(cluster: Cluster, stopped_source: str) -> None:
    async with console(cluster.url) as seen:
        await edit(seen, stopped_source)
        assert "no change yet" in review(seen)
        await seen.press("backspace", "x")  # the cursor is after the number
        await seen.until(lambda: "line 3, column" in review(seen) and "is not a number" in review(seen))
        await seen.press("ctrl+s")
        assert not isinstance(seen.app.screen, Dialog)
        await write(seen, "100x", "1005")
        await seen.until(lambda: "position 1000 → position 1005  (+5)" in review(seen))
        await write(seen, "1005", "-1")
        await seen.until(lambda: "must not be negative" in review(seen))
        await write(seen, '"position": -1', '"pos": 1')
        await seen.until(lambda: '{"position": N}' in review(seen))
        await write(seen, '{"pos": 1}', "null")
        await seen.until(lambda: "position 1000 → reset" in review(seen))
        await seen.press("escape")
        await seen.sees("the text is kept")
        await seen.press("e")
        assert "null" in seen.home.view.offsets.editor.text
        await seen.press("f5")
        await seen.until(lambda: "1000" in seen.home.view.offsets.editor.text)


async def test_alter_a_stopped_connector_and_undo(cluster: Cluster, stopped_source: str) -> None:
    async with console(cluster.url) as seen:
        await edit(seen, stopped_source)
        await write(seen, "1000", "500")
        await seen.press("ctrl+s")
        await seen.sees("alter the offsets of", "position 1000 → position 500 (−500)", "stays STOPPED")
        await seen.confirm("y")
        await seen.sees("✓ definite success", "The offsets for this connector have been altered successfully")
        assert cluster.offsets(stopped_source)[0][1] == {"position": 500}
        assert cluster.state(stopped_source) == "STOPPED 0/0"
        await seen.press("u")
        await seen.until(lambda: "position 500 → position 1000  (+500)" in review(seen))
        await seen.press("ctrl+s")
        await seen.confirm("y")
        await seen.until(lambda: cluster.offsets(stopped_source)[0][1] == {"position": 1000})
        await seen.sees("✓ definite success")


async def test_a_running_connector_is_altered_in_one_step(cluster: Cluster, stopped_source: str) -> None:
    name = stopped_source
    cluster.request("PUT", f"/connectors/{name}/resume")
    cluster.wait(name, "RUNNING 1/1")
    async with console(cluster.url) as seen:
        await edit(seen, name)
        await write(seen, "1000", "990")
        await seen.press("ctrl+s")
        await seen.sees("is RUNNING. In one step", "resume it")
        await seen.confirm("y")
        await seen.sees("✓ definite success")
        operation = seen.home.operations.log[-1]
        await seen.until(lambda: "observed: RUNNING" in operation.last)
        assert operation.lines[0] == f"stop connector {name}" and operation.lines[-1] == f"resume connector {name}"
        assert [call.method for call in operation.calls if call.changes] == ["PUT", "PATCH", "PUT"]
    cluster.wait(name, "RUNNING 1/1")
    wait_until(
        lambda: cluster.offsets(name)[0][1] == {"position": 1000},
        60,
        "the source to continue to the end of its file",
        every=0.2,
    )


async def test_a_paused_connector_is_paused_again(cluster: Cluster, stopped_source: str) -> None:
    cluster.request("PUT", f"/connectors/{stopped_source}/pause")
    cluster.wait(stopped_source, "PAUSED 0/0")
    async with console(cluster.url) as seen:
        await seen.until(lambda: stopped_source in seen.home.connector_list.keys)
        await seen.until(lambda: seen.home.snapshot.connectors[stopped_source].state == "PAUSED")
        await edit(seen, stopped_source)
        await write(seen, "1000", "10")
        await seen.press("ctrl+s")
        await seen.sees("pause it again")
        await seen.confirm("y")
        await seen.sees("definite success")
    cluster.wait(stopped_source, "PAUSED 0/0")


async def test_a_conflict_is_shown_and_the_text_kept(cluster: Cluster, stopped_source: str) -> None:
    async with console(cluster.url) as seen:
        await edit(seen, stopped_source)
        await write(seen, "1000", "500")
        partition, _ = cluster.offsets(stopped_source)[0]
        body = {"offsets": [{"partition": partition, "offset": {"position": 700}}]}
        assert cluster.request("PATCH", f"/connectors/{stopped_source}/offsets", body)[0] == 200
        await seen.press("ctrl+s")
        await seen.confirm("y")
        await seen.sees("✗ not applied", "someone else changed", "position 1000 → position 700")
        assert cluster.offsets(stopped_source)[0][1] == {"position": 700}
        assert "500" in seen.home.view.offsets.editor.text, "the text is kept"
        await seen.until(lambda: "position 700 → position 500  (−200)" in review(seen))
        await seen.press("ctrl+s")
        await seen.confirm("y")
        await seen.sees("definite success")
        assert cluster.offsets(stopped_source)[0][1] == {"position": 500}


async def test_reset_requires_the_name(cluster: Cluster, stopped_source: str) -> None:
    async with console(cluster.url) as seen:
        await edit(seen, stopped_source)
        await write(seen, '{"position": 1000}', "null")
        await seen.press("ctrl+s")
        await seen.sees("type the name", "reset")
        await seen.confirm(*stopped_source, "enter")
        await seen.sees("definite success", "no offsets committed yet")
        assert cluster.offsets(stopped_source) == []


async def test_refusals_of_the_server_are_shown_verbatim(cluster: Cluster, stopped_source: str) -> None:
    """The partition of the sink does not exist; only the server knows this."""
    sink = cluster.sink(stopped_source)
    cluster.wait(sink, "RUNNING 1/1")
    wait_until(lambda: cluster.offsets(sink), 90, "offsets of the sink", every=0.2)
    cluster.request("PUT", f"/connectors/{sink}/stop")
    cluster.wait(sink, "STOPPED 0/0")
    async with console(cluster.url) as seen:
        await edit(seen, sink)
        await write(seen, '"kafka_partition": 0', '"kafka_partition": 99')
        await seen.until(lambda: "a new partition" in review(seen) and "not in the text" in review(seen))
        await seen.press("ctrl+s")
        await seen.confirm("y")
        await seen.sees("✗ not applied", "Failed to alter consumer group offsets for connector")
        assert "99" in seen.home.view.offsets.editor.text
        assert seen.home.view.offsets.is_editing


async def test_editor_and_review_are_side_by_side_on_wide_screens(cluster: Cluster, stopped_source: str) -> None:
    async with console(cluster.url, 260, 50) as seen:
        await edit(seen, stopped_source)
        editor = seen.home.view.offsets.editor.region
        beside = seen.home.view.offsets.query_one("#review").region
        assert beside.x >= editor.right and beside.y == editor.y


@pytest.mark.parametrize("is_typed", [False, pytest.param(True, marks=pytest.mark.soak)], ids=["editor", "typed"])
async def test_an_outage_longer_than_the_retries(cluster: Cluster, stopped_source: str, is_typed: bool) -> None:
    """When the cluster is back, the console offers to finish the change, without waiting for the next start."""
    name = stopped_source
    cluster.request("PUT", f"/connectors/{name}/resume")
    cluster.wait(name, "RUNNING 1/1")
    async with Forwarder(cluster.url) as forwarder, console(forwarder.url) as seen:
        if is_typed:
            await seen.until(lambda: name in seen.home.connector_list.keys)
            entry = json.dumps({"partition": cluster.offsets(name)[0][0], "offset": {"position": 400}})
            await seen.press("colon", *f"patch offsets {name} '{entry}' --stop", "enter")
        else:
            await edit(seen, name)
            await write(seen, "1000", "400")
            await seen.press("ctrl+s")
        connection = (await seen.until(lambda: seen.home.services)).connection
        connection.clock = lambda: 100 * time.monotonic()  # so that the limit of an outage is reached in 0.6 s
        forwarder.dies_of = f"PUT /connectors/{name}/stop".encode()
        await seen.confirm("y")
        await seen.until(lambda: seen.home.operations.log and seen.home.operations.log[-1].phase.is_bad, "failed")
        await seen.sees("cannot reach" if is_typed else "could not be resumed")
        assert is_typed or "! unfinished" in seen.text
        cluster.wait(name, "STOPPED 0/0")
        await seen.until(lambda: seen.home.is_stale, "the list is shown as stale")
        connection.clock = time.monotonic
        await forwarder.revive()
        await seen.until(
            lambda: isinstance(seen.app.screen, InterruptedDialog) and seen.app.screen.armed, "the question"
        )
        await seen.sees(f"a change of {name} was interrupted", "The connector was RUNNING before")
        await seen.press("f")
        await seen.until(lambda: not isinstance(seen.app.screen, InterruptedDialog), "the dialog to close")
        await seen.sees(f"{name}: ", "altered successfully")
        assert not seen.home.view.offsets.query_one(Banner).display, "nothing is unfinished any more"
    cluster.wait(name, "RUNNING 1/1")


def test_the_question_says_that_someone_resumed_the_connector() -> None:
    change = OffsetChange(ChangeKind.ALTER, {"filename": "a"}, {"position": 2}, {"position": 1})
    pending = PendingChange(OffsetPlan("one", (), (change,), "RUNNING"), ChangeStep.ALTERING)
    assert "It is RUNNING now, as someone has resumed it" in described(pending, "RUNNING").plain
    assert "resumed it" not in described(pending, "STOPPED").plain
    stopping = described(replace(pending, step=ChangeStep.STOPPING), "RUNNING").plain
    assert "resumed it" not in stopping, "finishing it stops the connector"


async def test_only_working_keys_are_shown(cluster: Cluster, stopped_source: str) -> None:
    """Keys for positions in topics are not shown for a source."""
    async with console(cluster.url) as seen:
        await edit(seen, stopped_source)
        await seen.press("escape")
        await seen.sees("PARTITION", "position 1000")
        assert "set by time" not in seen.text
