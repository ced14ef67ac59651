"""A connector that does not confirm its offsets: the result is shown as a possible success."""

from __future__ import annotations

from tests.support.console.console import console
from tests.support.waiting import wait_until
from tests.tui.conftest import Cluster


async def test_possible_success_is_distinguished_and_leaves_the_connector_stopped(ours: Cluster) -> None:
    name = "possible-on-screen"
    ours.create(name, {"connector.class": "headrace_test_plugins.CountingConnector", "topic": name})
    ours.wait(name, "RUNNING 1/1")
    wait_until(lambda: ours.offsets(name), 60, "an offset", every=0.2)
    async with console(ours.url) as seen:
        await seen.go(name)
        await seen.press("e")
        await seen.until(lambda: seen.home.view.offsets.is_editing)
        editor = seen.home.view.offsets.editor
        editor.text = f'[{{"partition": {{"counter": "{name}"}}, "offset": {{"n": 3}}}}]'
        await seen.press("ctrl+s")
        await seen.sees("is RUNNING. In one step")
        await seen.confirm("y")
        await seen.sees(
            "! possible success",
            "The Connect framework-managed offsets for this connector have been altered successfully. However,",
            "to do:",
            "by hand before it is resumed",
            "remains STOPPED",
        )
        assert seen.home.view.offsets.query_one("#verdict").has_class("-possible")
        assert "definite" not in seen.text
    assert ours.state(name) == "STOPPED 0/0", "the operator resumes the connector after changing the external system"
    assert ours.offsets(name)[0][1] == {"n": 3}
