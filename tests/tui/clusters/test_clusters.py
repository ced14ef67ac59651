"""All clusters in one view, and switching between them without a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.broker import unique
from tests.support.console.console import console
from tests.support.console.console_transports import InMemory
from tests.support.servers.stub_worker import LIST, stub_worker
from tests.tui.conftest import Cluster
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.cluster.cluster_overview import ClusterOverview, ClusterSummary, root_facts
from tui.cluster.snapshot import LinkState
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Profile
from tui.errors import Unreachable
from tui.screens.clusters.clusters import ClustersScreen
from tui.screens.home import Home
from tui.widgets.bars import TitleBar
from tui.widgets.grid import Grid


@pytest.fixture
def contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ContextsFile:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return ContextsFile(tmp_path / "headrace" / "contexts.toml")


async def test_every_context_is_listed_with_its_state_and_enter_opens_it(
    cluster: Cluster, contexts: ContextsFile
) -> None:
    contexts.put(Profile(cluster.url, "orders [/prod]", production=True, read_only=True))
    contexts.put(Profile("http://127.0.0.1:1", "gone"))
    source = cluster.source()
    failing = cluster.failing(source)
    async with console(cluster.url, 120, 40) as seen:
        await seen.go(source)
        await seen.press("space", "C")
        await seen.until(lambda: isinstance(seen.app.screen, ClustersScreen))
        await seen.sees("3 contexts of 2 clusters", "orders [/prod]", "PROD RO", "✗ FAILED", "✗ UNREACHABLE", "Apache")
        screen = seen.app.screen
        assert isinstance(screen, ClustersScreen)
        assert cluster.url not in screen.overview.summaries, "the current cluster is not queried twice"
        screen.query_one(Grid).go("gone")
        await seen.sees("next try in", "cannot reach http://127.0.0.1:1")
        screen.query_one(Grid).go("orders [/prod]")
        await seen.press("enter")
        await seen.until(
            lambda: seen.home.profile.name == "orders [/prod]" and failing in seen.home.connector_list.keys
        )
        await seen.sees("PRODUCTION", "READ-ONLY", failing)
        assert not seen.home.marks, "marks are kept for each cluster"
        await seen.press("s")
        await seen.sees("stop refused: the context orders [/prod] is read-only")
        left = seen.app.homes[cluster.url]
        await seen.until(
            lambda: left._watching and left._watching.is_finished, "the previous cluster is no longer watched"
        )
        await seen.press("C")
        await seen.until(lambda: isinstance(seen.app.screen, ClustersScreen))
        seen.app.screen.query_one(Grid).go(cluster.url)
        await seen.press("enter")
        await seen.until(lambda: seen.home is left and seen.app.screen is left)
        assert set(left.marks) == {source} and left.connector_list.has_focus
        await seen.until(lambda: left._watching and not left._watching.is_finished, "watched again")


async def test_use_context_changes_the_screen_and_the_file(cluster: Cluster, contexts: ContextsFile) -> None:
    contexts.put(Profile(cluster.url, "a"))
    contexts.put(Profile(cluster.url, "b"))
    name = cluster.source(unique("ctx"))
    async with console(cluster.url, name="a") as seen:
        await seen.go(name)
        await seen.press("colon", *"use-context b", "enter")
        await seen.until(lambda: seen.home.profile.name == "b" and name in seen.home.connector_list.keys)
        await seen.sees("b is the current context")
        assert contexts.load().current == "b" and isinstance(seen.app.screen, Home)
        await seen.press("colon", *"use-context c", "enter")
        await seen.sees("unknown context 'c'")
        assert seen.home.profile.name == "b"
        await seen.press("colon", *"config remove-context b", "enter")
        await seen.sees("the screen shows context b")
        await seen.press("colon", *"config remove-context a", "enter")
        await seen.sees("would be removed, including its secrets")
        assert contexts.load().names == ["a", "b"]
        await seen.confirm("y")
        await seen.sees("a: removed")
        assert contexts.load().names == ["b"]
        await seen.press("q")
        await seen.until(lambda: not seen.app.is_running)


async def test_an_invalid_context_is_listed_with_the_reason(cluster: Cluster, contexts: ContextsFile) -> None:
    contexts.put(Profile(cluster.url, "fine"))
    with contexts.path.open("a") as file:
        file.write('[contexts.odd]\nurl = "http://me:hunter2@h:1"\ntimeout = "soon"\n')
    async with console(cluster.url, 120, 40) as seen:
        await seen.until(lambda: seen.home.services)
        await seen.press("C")
        await seen.sees("2 contexts of 1 cluster", "1 context invalid", "odd", "✗ INVALID")
        seen.app.screen.query_one(Grid).go("odd")
        await seen.sees("http://h:1", "timeout", ":config set-context")
        assert "hunter2" not in seen.text
        await seen.press("enter")
        assert isinstance(seen.app.screen, ClustersScreen), "an invalid context cannot be opened"
        await seen.press("n", "f5", "escape")
        await seen.until(lambda: isinstance(seen.app.screen, Home))


async def test_f5_reads_the_contexts_again(contexts: ContextsFile) -> None:
    async with stub_worker({"/": {"version": "4.3.0"}, LIST: {}}) as worker, console(worker.url, 120, 40) as seen:
        contexts.put(Profile(f"{worker.url}/elsewhere", "wrong-path"))
        contexts.put(Profile("http://127.0.0.1:1", "former"))
        await seen.until(lambda: seen.home.services)
        await seen.press("C")
        await seen.sees("wrong-path", "✗ REFUSED", "1 refused", "former", "✗ UNREACHABLE", "1 unreachable")
        seen.app.screen.query_one(Grid).go("wrong-path")
        await seen.sees("refused, next try in", "is this the URL of a Connect worker?")
        contexts.remove("former")
        contexts.put(Profile("http://127.0.0.1:1", "latter"))
        await seen.press("f5")
        await seen.sees("latter", "✗ REFUSED", "✗ UNREACHABLE")
        assert "former" not in seen.text
        contexts.path.write_text("contexts = [")
        await seen.press("f5")
        await seen.sees("is not TOML", "latter")


async def test_an_unreadable_contexts_file_is_reported(cluster: Cluster, contexts: ContextsFile) -> None:
    contexts.path.parent.mkdir(parents=True)
    contexts.path.write_text("contexts = [")
    async with console(cluster.url) as seen:
        await seen.until(lambda: seen.home.services)
        await seen.press("C")
        await seen.sees("1 cluster,")
        await seen.press("escape")
        await seen.sees("is not TOML")


class Silent(InMemory):
    """A transport whose cluster does not respond."""

    url = "http://nobody:1"

    def __init__(self) -> None:
        self.asked = 0

    async def send(self, call: ApiCall) -> None:
        self.asked += 1
        raise Unreachable("cannot reach http://nobody:1: refused")


async def test_an_unreachable_cluster_is_polled_at_growing_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    summaries: list[ClusterSummary] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 8:
            raise KeyboardInterrupt

    transport = Silent()
    profile = Profile(transport.url, "far")
    watch = ClusterOverview(
        [profile], lambda _: Connect(transport), summaries.append, clock=lambda: 100.0, sleep=sleep, chance=lambda: 0.5
    )
    with pytest.raises(KeyboardInterrupt):
        await watch._watch("far")
    assert waits == [2, 4, 8, 16, 32, 60, 60, 60] and transport.asked == 8
    assert summaries[-1].link.state is LinkState.LOST and summaries[-1].link.next_try_at == 160.0


def test_headrace_and_apache_workers_are_distinguished() -> None:
    assert root_facts({"version": "4.3.0", "commit": "headrace-1"})["kind"] == "Headrace"
    assert root_facts({"version": "4.3.0", "commit": "a9ce"}) == {
        "version": "4.3.0",
        "kind": "Apache",
        "cluster_id": "",
    }


async def test_the_color_of_a_context_has_readable_text() -> None:
    async with console("http://127.0.0.1:1", name="berlin", colour="#ffe9a0", read_only=True) as seen:
        title = seen.home.query_one(TitleBar)
        assert title.styles.background.hex == "#FFE9A0" and title.styles.color.brightness < 0.5
        await seen.sees("berlin", "READ-ONLY")
        assert all("$" not in str(span.style) for span in title.content.spans), "theme colors would be unreadable here"
