"""Plugins of the worker write down what Apache's worker and ours call: config provider, client config override policy,
REST extension."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker
from tests.support.connect import STRINGS
from tests.support.java.transcript.chain import SINK, SOURCE
from tests.support.java.transcript.sides import EXACTLY_ONCE, Side, workers
from tests.support.java.transcript.worker_plugins import EXTENSION, worker_plugins
from tests.support.java.transcript.writer import read, transcript_plugins
from tests.support.waiting import wait_until
from tests.support.workers import our_worker

pytestmark = [pytest.mark.soak, pytest.mark.timeout(400)]

_FOR_ITSELF = "provider: loader false PluginClassLoader"
"""Apache's worker has another instance of a config provider, for its own properties."""

_VARIABLES = {
    "one": "${telling:path:b} and ${telling:path:a}",
    "two": "${telling:path:c}${telling:other:none}",
    "three": "${telling:alone}",
}


def _properties(folder: Path, apache: bool) -> dict[str, str]:
    """The REST extension is Apache's alone: see test_a_rest_extension."""
    return {**EXACTLY_ONCE, **worker_plugins(folder / "calls", extension=apache)}


def test_config_provider_and_policy(broker: KafkaBroker, topic: str, tmp_path: Path) -> None:
    """How often they are asked depends on the worker; what they are asked does not."""
    folders = (tmp_path / "apache", tmp_path / "ours")
    for folder in folders:
        folder.mkdir()
    responses = []
    with workers(broker.bootstrap, folders, _properties) as sides:
        for side in sides:
            responses.append([_validated(side, name, topic) for name in _CONFIGS])
            side.connect.create("asking", {**_CONFIGS["source"], "topic": topic, **STRINGS, **_VARIABLES})
            side.connect.wait("asking", "RUNNING", ["RUNNING"], 120)
            side.connect.ask("DELETE", "/connectors/asking")
            side.worker.stop()
    apache, ours = responses
    assert ours == apache
    apaches, own = ({f"{part}: {x}" for part, told in read(f / "calls").items() for x in told} for f in folders)
    extension = {call for call in apaches if call.startswith("extension: ")}
    assert "extension: register true true" in extension
    assert own - apaches == set()
    assert apaches - extension - own == {_FOR_ITSELF}


_CONFIGS: dict[str, dict[str, str]] = {
    "none": {"connector.class": SOURCE},
    "source": {
        "connector.class": SOURCE, "producer.override.linger.ms": "7", "producer.override.own": "x",
        "consumer.override.client.rack": "r", "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "1", "admin.override.retries": "3",
    },
    "sink": {"connector.class": SINK, "topics": "t", "consumer.override.max.poll.records": "9"},
    "refused": {"connector.class": SINK, "topics": "t", "consumer.override.client.id": "me"},
    "demanding": {"connector.class": SOURCE},
}  # fmt: skip


def _validated(side: Side, name: str, topic: str) -> Any:
    """Status, and the errors by key, or the message of a refusal."""
    config = {"name": name, "tasks.max": "1", "topic": topic, **STRINGS, **_CONFIGS[name]}
    path = f"/connector-plugins/{config['connector.class']}/config/validate"
    status, response = side.connect.request("PUT", path, config)
    if status != 200:
        return status, response["message"]
    values = [entry["value"] for entry in response["configs"]]
    return status, {
        value["name"]: value["errors"] for value in values if value["errors"] or "override" in value["name"]
    }


def test_a_rest_extension(broker: KafkaBroker, tmp_path: Path) -> None:
    """On Apache's worker; ours does not start without what an operator may rely on."""
    refused = our_worker(
        tmp_path, broker.bootstrap, {"plugin.path": transcript_plugins(), "rest.extension.classes": EXTENSION}
    )
    refused.start(wait=False)
    wait_until(lambda: not refused.running(), 30)
    log = refused.log.read_text()
    assert f"rest.extension.classes={EXTENSION}: Java extensions cannot run here" in log
