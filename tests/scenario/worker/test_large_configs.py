"""Configurations, task configs and offsets that do not fit into a record of their topic."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

LIMIT = 1_048_576
OVERHEAD = 90
"""Bytes of a request in addition to its record, at most."""


def config(broker: KafkaBroker, size: int) -> dict[str, str]:
    """Of a connector whose task configs are a little larger than its own."""
    topic = broker.create_topic()
    return {"connector.class": "VerifiableSource", "topic": topic, "throughput": "1", "padding": "v" * size}


@pytest.mark.parametrize("exactly_once", ["disabled", "enabled"])
def test_what_does_not_fit_into_a_record_is_refused_with_size_limit_and_remedy(
    worker: StartWorker, broker: KafkaBroker, tmp_path: Path, exactly_once: str
) -> None:
    connect = Connect(
        worker({"config.storage.max.message.bytes": "2000000", "exactly.once.source.support": exactly_once})
    )
    name, large = unique("large"), config(broker, LIMIT)
    status, body = connect.request("PUT", f"/connectors/{name}/config", large)
    assert status == 413
    found = re.match(r"A record of ([\d,]+) bytes for topic \S+-config is too large: max.request.size of the worker is "
                     r"1,048,576\. Make it smaller, or raise both max.request.size .*max.message.bytes of the topic$",
                     body["message"])  # fmt: skip
    assert found, body
    assert connect.ask("GET", "/connectors") == []
    excess = int(found[1].replace(",", "")) - LIMIT
    connect.ask("PUT", f"/connectors/{name}/config", {**large, "padding": "v" * (LIMIT - excess - OVERHEAD)})
    wait_until(lambda: connect.states(name)[0] == "FAILED", 30, "the refusal of the task configs")
    assert "too large: max.request.size" in connect.status(name)["connector"]["trace"]
    connect.ask("PUT", f"/connectors/{name}/config", config(broker, 10))
    connect.wait(name, "RUNNING", ["RUNNING"])
    _check_offsets(connect, broker, tmp_path)


def _check_offsets(connect: Connect, broker: KafkaBroker, folder: Path) -> None:
    name = unique("offsets")
    (folder / "in").write_text("")
    connect.source(name, str(folder / "in"), broker.create_topic())
    connect.put(name, "stop")
    connect.wait(name, "STOPPED", [])
    entries = [{"partition": {"filename": file}, "offset": {"position": 1}} for file in ("small", "v" * LIMIT)]
    status, body = connect.request("PATCH", f"/connectors/{name}/offsets", {"offsets": entries})
    assert status == 400
    assert "max.request.size of the worker is 1,048,576" in body["message"]
    assert connect.offsets(name) == []


def test_a_record_that_only_the_topic_refuses_is_named_as_well(worker: StartWorker, broker: KafkaBroker) -> None:
    connect = Connect(worker({"max.request.size": "3000000"}))
    status, body = connect.request("PUT", f"/connectors/{unique('c')}/config", config(broker, 1_100_000))
    assert status == 413
    assert re.search(
        r"A record of 1,100,\d+ bytes .*max.message.bytes of topic \S+-config .*is less\.", body["message"]
    )
