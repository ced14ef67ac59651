"""Search for plugins, and the wizard for a new connector."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from tests.support.broker import unique
from tests.support.console.console import console
from tests.support.servers.stub_worker import LIST, stub_worker
from tests.tui.conftest import Cluster
from tui.client.responses import PluginDetailsResponse
from tui.screens.create.plugins import PluginsScreen, plugins
from tui.screens.create.review import ReviewScreen
from tui.screens.create.wizard import CreateScreen


def test_a_converter_is_listed_for_each_of_its_types() -> None:
    uses = [{"class": "o.JsonConverter", "type": use, "version": "1"} for use in ("converter", "header_converter")]
    assert len({one.id for one in plugins(uses)}) == 2


def test_classes_of_apaches_worker_that_a_plugin_uses_are_shown() -> None:
    entry = {"class": "o.Sink", "type": "sink", "version": "1"}
    details = {**entry, "language": "java", "from": "/p/o.jar", "worker_classes": {"k.Herder": "refused"}}
    (plugin,) = plugins([entry], [cast("PluginDetailsResponse", details)])
    assert plugin.description.plain.splitlines()[-2:] == ["/p/o.jar", "uses k.Herder: refused"]


async def test_plugins_are_searched_and_their_keys_documented(cluster: Cluster) -> None:
    async with console(cluster.url, 100, 60) as seen:
        await seen.until(lambda: seen.home.services and not seen.home.is_stale)
        await seen.press("P")
        await seen.sees("FileStreamSource", "sink", "4.3.0")
        await seen.press("slash", *"replacefield", "enter")
        await seen.sees("ReplaceField$Key", "2 plugins by /replacefield", "exclude")
        await seen.press("tab")
        await seen.sees("Fields to exclude")
        await seen.press("tab", "t", "t")
        await seen.sees("0 plugins of type", "nothing matches")
        await seen.press("escape")
        assert not isinstance(seen.app.screen, PluginsScreen)


async def test_a_connector_is_created_in_the_wizard(cluster: Cluster, tmp_path: Path) -> None:
    name = unique("made")
    cluster.made.append(name)
    async with console(cluster.url, 100, 60) as seen:
        await seen.until(lambda: seen.home.services and not seen.home.is_stale)
        await seen.press("P")
        await seen.sees("FileStreamSource")
        await seen.press("slash", *"streamsource", "enter", "c")
        await seen.sees("a connector needs a name", "2 keys to fix", "Globally unique name")
        await seen.press("ctrl+s")
        await seen.sees("fix name first")
        await seen.press("g", "enter", *name, "enter", "down", "enter", *name, "enter")
        await seen.sees("✓ valid")
        screen = seen.app.screen
        assert isinstance(screen, CreateScreen)
        screen.query_one("#fields").go("tasks.max")  # type: ignore[attr-defined]  # a Grid
        await seen.press("enter", "x")
        await seen.sees("Not a number of type INT", "1 key to fix")
        await seen.press("escape")
        await seen.sees("✓ valid")
        await seen.press("a")
        await seen.until(lambda: "errors.log.enable" in screen.query_one("#fields").keys)  # type: ignore[attr-defined]  # a Grid
        screen.query_one("#fields").go("errors.log.enable")  # type: ignore[attr-defined]
        await seen.press("space")
        await seen.sees("values: true, false")
        await seen.press("plus", *"db.password", "enter")
        await seen.sees("db.password")
        assert "db.password" not in screen.new.values, "a key without an entered value is not part of the config"
        await seen.press(*"hunter2", "enter")
        await seen.sees("********")
        await seen.press("plus", *"errors.tolerance=all", "enter", "ctrl+s")
        await seen.until(lambda: isinstance(seen.app.screen, ReviewScreen))
        await seen.sees(f'"name": "{name}"', '"errors.log.enable": "true"', "initial state RUNNING")
        await seen.press("s", "s")
        await seen.sees('"initial_state": "STOPPED"')
        await seen.press("ctrl+s")
        await seen.until(lambda: seen.app.screen is seen.home)
        await seen.until(lambda: seen.home.is_detail and seen.home.view.name_shown == name)
    cluster.wait(name, "STOPPED 0/0")
    config = cluster.request("GET", f"/connectors/{name}/config")[1]
    assert config["errors.log.enable"] == "true" and config["errors.tolerance"] == "all"
    assert config["topic"] == name and "file" not in config and config["db.password"] == "hunter2"


async def test_entered_values_are_kept_and_errors_shown(cluster: Cluster) -> None:
    there = cluster.source("there")
    async with console(cluster.url, 100, 60) as seen:
        await seen.until(lambda: there in seen.home.connector_list.keys)
        await seen.press("P")
        await seen.sees("FileStreamSource")
        await seen.press("slash", *"streamsource", "enter", "c", "enter", *there, "enter")
        await seen.sees(f"a connector {there} exists already")
        await seen.press("escape", "c")
        await seen.sees(f"a connector {there} exists already")


async def test_a_key_that_an_accepted_config_does_without_is_not_called_required() -> None:
    """As `topic` beside http.manifest, although its definition requires it."""
    topic = {"name": "topic", "type": "STRING", "required": True, "importance": "HIGH", "default_value": None}
    value: dict[str, Any] = {"name": "topic", "value": None, "recommended_values": [], "errors": [], "visible": True}
    path = "PUT /connector-plugins/HttpSourceConnector/config/validate"
    missing = {**value, "errors": ["Missing"]}
    answers = {"/": {"version": "4.3.0"}, LIST: {}, path: {"error_count": 1, "configs": [both(topic, missing)]}}
    async with stub_worker(answers) as worker, console(worker.url) as seen:
        await seen.until(lambda: seen.home.is_started and seen.home.services)
        assert seen.home.services is not None
        page = CreateScreen(seen.home.services, "a.HttpSourceConnector")
        page.new.values["name"] = "x"
        seen.app.push_screen(page)
        await seen.sees("1 key to fix", "✗ topic Missing")
        worker.answers[path] = {"error_count": 0, "configs": [both(topic, value)]}
        page.new.values["http.manifest"] = "m.yaml"
        page.check(0.0)
        await seen.sees("✓ valid", "topic")
        assert not any("topic" in line and "required" in line for line in seen.lines)


def both(definition: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    return {"definition": {**definition, "documentation": "", "group": "", "order_in_group": 1}, "value": value}
