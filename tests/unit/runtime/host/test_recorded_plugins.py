"""The plugin host's answers against those recorded from Apache Kafka Connect 4.3.0."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from runtime import CONNECT_VERSION
from runtime.definitions import invalid_message
from runtime.host.client import PluginHostClient
from runtime.host.port import HostRequestError, UnknownPluginError
from runtime.host.settings import HostSettings
from tests.support.herder.recording_listener import RecordingListener

PARITY = Path(__file__).parents[3] / "contract" / "parity"
RECORDING = PARITY / "reference-public-eos-disabled.json"
CORNERS = PARITY / "reference-corners.json"
ELSEWHERE = {"no config", "null config", "empty object", "name in config differs"}
"""Steps that the herder refuses before validation."""
NOT_YET = {"create o"}
"""Needs `offsets.storage.topic`."""


def steps(*scenarios: str) -> list[Any]:
    recorded = json.loads(RECORDING.read_text())["steps"]
    return [pytest.param(s, id=f"{s['scenario']}: {s['step']}") for s in recorded if s["scenario"] in scenarios]


def comparable(found: Any) -> Any:
    """The answer without free text and version."""
    if isinstance(found, dict):
        return {k: "<doc>" if k == "documentation" else comparable(v) for k, v in found.items()}
    if isinstance(found, list):
        return [comparable(v) for v in found]
    return "<version>" if found == CONNECT_VERSION else found


@pytest.fixture
async def host() -> AsyncIterator[PluginHostClient]:
    host = PluginHostClient(HostSettings(), RecordingListener())
    await host.start()
    yield host
    await host.close()


async def test_plugin_definitions(host: PluginHostClient) -> None:
    compared = 0
    for param in steps("plugin_config_connectors", "plugin_config_smts"):
        (step,) = param.values
        plugin = step["path"].split("/")[2].replace("%24", "$")
        if step["status"] != 200 or "transforms" in step["path"] or plugin == "RegexRouter":
            continue
        ours, theirs = comparable(await host.describe(plugin)), comparable(step["body"])
        assert ours == theirs, plugin
        assert [list(key) for key in ours] == [list(key) for key in theirs], "the order of fields"
        compared += 1
    assert compared >= 12


async def test_an_unknown_plugin_is_refused(host: PluginHostClient) -> None:
    with pytest.raises(UnknownPluginError, match="Unknown plugin Nope"):
        await host.describe("Nope")
    with pytest.raises(HostRequestError, match=r"version range \[9.9,9.9\]"):
        await host.describe("FileStreamSource", "9.9")


@pytest.mark.parametrize("name", ["org.apache.kafka.common.config.provider.FileConfigProvider", "File", "None"])
async def test_a_plugin_of_the_worker_itself_has_no_definition(host: PluginHostClient, name: str) -> None:
    with pytest.raises(HostRequestError) as error:
        await host.describe(name)
    (step,) = (s for s in json.loads(CORNERS.read_text())["steps"] if s["step"] == name)
    assert str(error.value) == step["body"]["message"]


async def test_lists_of_plugins(host: PluginHostClient) -> None:
    for param in steps("plugins"):
        (step,) = param.values
        kind = step["step"].removeprefix("all: ")
        if kind in ("sink", "source", "converter", "header_converter"):
            apache = [p for p in await host.plugins(False) if p["class"].startswith("org.apache.kafka.connect.")]
            ours = [p for p in apache if p["type"] == kind and ".tools." not in p["class"]]
            assert comparable(ours) == step["body"]
    assert {p["type"] for p in await host.plugins(True)} == {"sink", "source"}


async def refusal(host: PluginHostClient, request: dict[str, Any]) -> str | None:
    """The message of the 400 answer of POST /connectors."""
    config = {**request["config"], "name": (request.get("name") or "").strip()}
    try:
        return invalid_message(await host.validate(config))
    except (UnknownPluginError, HostRequestError) as error:
        return str(error)


def words(message: str | None) -> str | None:
    """The message without lists of plugins, and without a config, which Apache's worker repeats before Kafka 4.4."""
    if message is None:
        return None
    message = re.sub("available connectors are: .*", "<plugins>", message)
    return re.sub(r"Connector config .*contains no connector type.*", "<no type>", message)


async def test_refused_configs(host: PluginHostClient) -> None:
    for param in steps("create_invalid_config", "create_names_missing", "exactly_once_config"):
        (step,) = param.values
        if step.get("method") != "POST" or step["step"] in ELSEWHERE | NOT_YET:
            continue
        message = await refusal(host, step["request"])
        assert words(message) == words(step["body"].get("message")), param.id


async def test_validation(host: PluginHostClient) -> None:
    found: dict[str, Any] = {}
    for param in steps("validate_source", "validate_errors"):
        (step,) = param.values
        if step.get("method") == "PUT":
            if step["status"] != 200:
                found = {}
                continue
            answer = await host.validate(step["request"])
            found = {c["value"]["name"]: c for c in answer.pop("configs")}
            assert comparable(answer) == step["body"], param.id
        elif found:
            assert comparable(part(found, step["step"].partition(" # ")[2])) == step["data"], param.id


def part(found: dict[str, Any], what: str) -> Any:
    """The part of an answer that a step recorded."""
    values = {name: c["value"] for name, c in found.items()}
    if what == "names":
        return list(found)
    if what == "errors":
        return [{"name": n, "errors": v["errors"]} for n, v in sorted(values.items()) if v["errors"]]
    if what == "values":
        return {n: {k: x for k, x in v.items() if k != "errors"} for n, v in values.items()}
    return found[what]
