"""Verbs for many connectors: marks and filters, question with all targets, results, retry."""

from __future__ import annotations

from tests.support.broker import unique
from tests.support.console.console import Console, console
from tests.support.servers.forwarder import Forwarder
from tests.tui.conftest import Cluster
from tui.screens.base.dialog import Dialog
from tui.screens.operations.bulk_screen import BulkMenu, BulkScreen
from tui.screens.services.operations import Phase


async def question(seen: Console) -> Dialog:
    dialog = await seen.until(lambda: isinstance(seen.app.screen, Dialog) and seen.app.screen.armed and seen.app.screen)
    assert isinstance(dialog, Dialog)
    return dialog


async def results(seen: Console) -> BulkScreen:
    """The screen of results, once all operations have ended."""
    await seen.until(
        lambda: isinstance(seen.app.screen, BulkScreen) and not seen.app.screen.bulk.is_open, "the end", 90
    )
    assert isinstance(seen.app.screen, BulkScreen)
    return seen.app.screen


async def filtered(seen: Console, text: str, *names: str) -> None:
    await seen.until(lambda: set(names) <= set(seen.home.connector_list.keys), "all connectors")
    await seen.press("slash", *text, "enter")
    await seen.until(lambda: set(seen.home.connector_list.keys) == set(names), f"the connectors that match /{text}")


async def test_bulk_operations_act_only_on_marked_connectors_in_any_order(cluster: Cluster) -> None:
    prefix = unique("bulk")
    names = cluster.running_sources(4, prefix)
    async with console(cluster.url) as seen:
        await filtered(seen, prefix, *names)
        await seen.go(names[0])
        await seen.press("space", "space")
        assert set(seen.home.marks) == set(names[:2]) and seen.home.connector_list.cursor == names[2]
        await seen.sees("2 marked", f"✚{names[0]}", f"✚{names[1]}")
        cluster.request("PUT", f"/connectors/{names[0]}/pause")  # the order changes: PAUSED connectors are listed last
        await seen.until(lambda: seen.home.snapshot.connectors[names[0]].state == "PAUSED")
        assert set(seen.home.marks) == set(names[:2])
        await seen.press("s")
        dialog = await question(seen)
        assert dialog.wanted == "2"
        await seen.sees("stop 2 connectors? type 2 to continue", names[0], names[1], "type the number")
        await seen.confirm("2", "enter")
        screen = await results(seen)
        assert {target.name: target.word for target in screen.bulk.targets} == dict.fromkeys(names[:2], "observed")
        await seen.sees("stop 2 connectors: 2 observed", "✓ observed")
        await seen.press("escape")
        assert not seen.home.marks, "the marks are removed after the operation"
        assert [cluster.state(name)[:7] for name in names] == ["STOPPED", "STOPPED", "RUNNING", "RUNNING"]


async def test_bulk_operations_on_a_filter_skip_connectors_that_would_not_change(cluster: Cluster) -> None:
    prefix = unique("bulk")
    names = cluster.running_sources(3, prefix)
    (other,) = cluster.running_sources(1, unique("other"))
    cluster.request("PUT", f"/connectors/{names[1]}/stop")
    cluster.wait(names[1], "STOPPED 0/0")
    async with console(cluster.url, 120, 40) as seen:
        await filtered(seen, prefix, *names)
        await seen.press("b")
        await seen.until(lambda: isinstance(seen.app.screen, BulkMenu))
        await seen.sees(f"3 connectors shown by /{prefix}", "s stop", "D delete")
        await seen.press("s")
        await question(seen)
        await seen.sees("stop 2 connectors? type 2", "left out: 1 connector", f"{names[1]} is already STOPPED")
        await seen.press("3", "enter")
        assert isinstance(seen.app.screen, Dialog), "a wrong number does not confirm"
        await seen.press("backspace", "2", "enter")
        await results(seen)
        await seen.sees("stop 3 connectors: 2 observed, 1 left out")
        assert all(cluster.state(name) == "STOPPED 0/0" for name in names)
        assert cluster.state(other) == "RUNNING 1/1"
        await seen.press("escape", "o")
        await seen.sees(f"stop {names[0]}", f"stop {names[2]}")


async def test_failed_targets_are_retried(cluster: Cluster) -> None:
    """The cluster becomes unreachable between question and answer. Failed requests are retried when it is back."""
    prefix = unique("bulk")
    names = cluster.running_sources(6, prefix)
    async with Forwarder(cluster.url) as forwarder, console(forwarder.url) as seen:
        await filtered(seen, prefix, *names)
        await seen.press("asterisk")
        await seen.sees("6 marked")
        await seen.press("s")
        await question(seen)
        assert seen.home.services is not None
        seen.home.services.connection.store._publisher._subscribers.remove(seen.home.take_snapshot)  # hides the outage
        forwarder.die()
        await seen.press("6", "enter")
        screen = await results(seen)
        words = [target.word for target in screen.bulk.targets]
        assert words.count("failed") + words.count("left out") == 6
        await seen.sees("f retries 6", "f retry", "cannot reach")
        await forwarder.revive()
        seen.home.services.connection.store.subscribe(seen.home.take_snapshot)
        seen.home.action_refresh()
        await seen.press("f")
        screen = await results(seen)
        assert [target.word for target in screen.bulk.targets] == ["observed"] * 6
        assert all(cluster.state(name) == "STOPPED 0/0" for name in names)
        assert sum(one.phase is Phase.FAILED for one in seen.home.operations.log) == words.count("failed")


async def test_read_only_refuses_before_asking(cluster: Cluster) -> None:
    name = cluster.source()
    async with console(cluster.url, read_only=True, name="prod") as seen:
        await seen.go(name)
        await seen.press("space", "s")
        await seen.sees("stop refused: the context prod is read-only")
        assert not isinstance(seen.app.screen, Dialog) and not seen.home.operations.log
