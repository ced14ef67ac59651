"""`headrace migrate check` on properties files and a Connect cluster over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.main import main
from runtime.migrate.connect_cluster import ConnectCluster
from tests.support.servers.http_endpoint import Answer, Received, http_server

WORKER = """\
bootstrap.servers=b:9092
group.id=company
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
config.storage.topic=c
offset.storage.topic=o
status.storage.topic=s
headrace.slots=2
"""
FILES = {"connector.class": "FileStreamSink", "topics": "orders,returns", "file": "/tmp/out"}
JAVA = {"connector.class": "com.example.LegacySink", "topics": "orders"}

Check = Callable[..., tuple[int, str]]


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    """Runs the command on the worker's properties with further lines; returns the exit code and the output."""

    def check(more: str = "", url: str = "") -> tuple[int, str]:
        file = tmp_path / "worker.properties"
        file.write_text(WORKER + more)
        code = main(["migrate", "check", str(file), *(["--connect", url] if url else [])])
        shown = capsys.readouterr()
        return code, shown.out + shown.err

    return check


def cluster(version: str, **configs: dict[str, str]) -> Callable[[Received], Answer]:
    """Answers as a Connect worker with these connectors."""
    listed: dict[str, Any] = {
        name: {"info": {"name": name, "config": {"name": name, **config}, "tasks": [], "type": "sink"}}
        for name, config in configs.items()
    }

    def respond(request: Received) -> Answer:
        return 200, {}, {"version": version, "commit": "x"} if request.path == "/" else listed

    return respond


def test_properties_that_have_no_effect_or_are_refused(check: Check) -> None:
    code, told = check("metrics.num.samples=3\nmy.own=1\nproducer.partitioner.class=com.example.Mine\n")
    assert code == 1
    assert "BAD   properties producer.: " in told and "com.example.Mine" in told
    code, told = check("my.own=1\n")
    assert code == 0 and "note  properties my.own is not a known property" in told
    assert "8 of 9 have the effect" in told


def test_rights_and_memory_without_a_cluster(check: Check) -> None:
    _, told = check()
    assert "kafka-acls --bootstrap-server b:9092 --add --allow-principal User:CONNECT" in told
    assert "--topic o-headrace" in told and "--operation Read --group company" in told
    assert "up to 326 MB, with 2 slots" in told
    assert "Name a worker with --connect URL" in told


def test_the_plan_for_each_connector(check: Check) -> None:
    override = {**FILES, "producer.override.partitioner.class": "com.example.Mine"}
    with http_server(cluster("3.6.2", good=FILES, lost=JAVA, odd=override)) as server:
        code, told = check(url=server.url)
    assert code == 1
    assert "ok    connector  good: works as it is, with built-in plugins" in told
    assert (
        "BAD   connector  lost: connector.class=com.example.LegacySink is neither built in nor in plugin.path" in told
    )
    assert "BAD   connector  odd: producer: " in told
    assert "--group connect-good" in told and "--topic returns" in told


@pytest.mark.parametrize(
    ("version", "step"),
    [
        ("3.6.2", "With a stop, since Connect before 4.0 cannot share a group"),
        ("7.9.0-ccs", "With a stop"),
        ("4.1.0", "Without a stop"),
        ("8.0.0-ccs", "Without a stop"),
    ],
)
def test_the_way_depends_on_the_version(check: Check, version: str, step: str) -> None:
    with http_server(cluster(version)) as server:
        code, told = check(url=server.url)
    assert code == 0 and f"The move from Connect {version}:\n  {step}" in told


def test_releases_of_distributions() -> None:
    versions = ("2.8.2", "6.2.0-ccs", "7.4.1-ce", "odd")
    assert [ConnectCluster(version, ()).release for version in versions] == [(2, 8), (2, 8), (3, 4), (0, 0)]


def test_what_cannot_be_read_ends_with_one_line(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    code, told = check(url="http://user:hunter2@127.0.0.1:1")
    assert code == 2 and "headrace migrate: http://127.0.0.1:1 is not a Connect worker that can be read" in told
    assert "hunter2" not in told
    assert main(["migrate", "check", "/no/such.properties"]) == 2
    assert "headrace migrate: " in capsys.readouterr().err
