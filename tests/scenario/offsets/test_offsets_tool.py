"""`headrace offsets` (KIP-199) on real topics and files, of our workers and Java's."""

from __future__ import annotations

import gc
import io
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtime.offsets_tool import cli
from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON, SINK, STRINGS, Connect
from tests.support.plugins import PLUGINS
from tests.support.waiting import soon
from tests.support.workers import StartWorker, WorkerProcess, java_worker, our_worker

OLD = [{"partition": {"filename": f"/f{i}"}, "offset": {"position": i}} for i in range(3)]


@dataclass
class Tool:
    """The tool with a cluster on which no worker runs."""

    config: Path

    def run(self, *words: str, given: Any = None) -> tuple[int, str, str]:
        """Runs the tool in this process; returns its exit code, standard output and standard error."""
        given_text = "" if given is None else json.dumps(given)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", _stream(given_text))
            with redirect_stdout(_stream()) as out, redirect_stderr(io.StringIO()) as err:
                code = cli.main([f"--config={self.config}", *words])
                out.flush()
        return code, out.buffer.getvalue().decode(), err.getvalue()

    def run_process(self, *words: str, given: Any = None) -> tuple[int, str, str]:
        """As run(), in a process of its own."""
        command = [sys.executable, "-m", "runtime", "offsets", f"--config={self.config}", *words]
        done = subprocess.run(command, input=json.dumps(given), capture_output=True, timeout=180, text=True)
        return done.returncode, done.stdout, done.stderr

    def export(self, *words: str) -> Any:
        code, out, err = self.run("--export", *words)
        assert code == 0, err
        return json.loads(out)

    def load(self, document: Any, *words: str) -> str:
        code, out, err = self.run("--import", *words, given=document)
        assert code == 0, err
        return out


class _Stream(io.TextIOWrapper):
    buffer: io.BytesIO


def _stream(text: str = "") -> _Stream:
    return _Stream(io.BytesIO(text.encode()), "utf-8")


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """The tool, which usually has a process of its own, disables the garbage collector."""
    yield
    gc.enable()


@pytest.fixture
def cluster(broker: KafkaBroker, tmp_path: Path) -> Tool:
    """A distributed cluster's file and topics, with offsets of the connector `old`."""
    group = unique("offline")
    tool = Tool(tmp_path / "worker.properties")
    lines = {"bootstrap.servers": broker.bootstrap, "group.id": group, "key.converter": "x", "value.converter": "x"}
    for kind, partitions in (("config", 1), ("offset", 5), ("status", 1)):
        lines[f"{kind}.storage.topic"] = broker.create_topic(f"{group}-{kind}", partitions, cleanup_policy="compact")
    tool.config.write_text("".join(f"{k}={v}\n" for k, v in lines.items()))
    tool.load({"old": OLD})
    return tool


@dataclass
class StoppedWorker:
    """A worker that has been stopped after it has stored offsets of stopped connectors: sources without any, and sinks
    with 3 and 4 in their two partitions. Each test takes connectors of its own."""

    process: WorkerProcess
    tool: Tool
    sources: list[str]
    sinks: list[str]
    at: list[dict[str, Any]]

    def take(self) -> tuple[str, str]:
        return self.sources.pop(), self.sinks.pop()


@pytest.fixture(scope="module")
def stopped(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoppedWorker]:
    process = our_worker(tmp_path_factory.mktemp("stopped"), broker.bootstrap, {"plugin.path": PLUGINS})
    process.start()
    connect, topic = Connect(process), broker.create_topic(partitions=2)
    at = [{"kafka_partition": p, "kafka_topic": topic} for p in (0, 1)]
    sources, sinks = [unique("src") for _ in range(4)], [unique("snk") for _ in range(4)]
    for source, sink in zip(sources, sinks, strict=True):
        connect.create(source, _counting("t"), initial_state="STOPPED")
        config = {"connector.class": SINK, "file": "x", "topics": topic, **STRINGS}
        connect.create(sink, config, initial_state="STOPPED")
        connect.alter(sink, (at[0], {"kafka_offset": 3}), (at[1], {"kafka_offset": 4}))
    process.stop()
    yield StoppedWorker(process, Tool(process.properties_file), sources, sinks, at)
    if process.running():
        process.stop()


@pytest.fixture
def file(tmp_path: Path) -> Tool:
    """A standalone worker's file."""
    tool = Tool(tmp_path / "standalone.properties")
    offsets = tmp_path / "connect.offsets"
    tool.config.write_text(f"offset.storage.file.filename={offsets}\nlisteners=http://127.0.0.1:1\n")
    tool.load({"old": OLD})
    return tool


@pytest.fixture(params=["cluster", "file"])
def either(request: pytest.FixtureRequest) -> Tool:
    tool: Tool = request.getfixturevalue(request.param)
    return tool


def test_only_the_latest_pairs_are_exported(either: Tool) -> None:
    either.load({"old": [{**OLD[1], "offset": {"position": 7}}]})
    assert _sorted(either.export()["old"]) == [OLD[0], {**OLD[1], "offset": {"position": 7}}, OLD[2]]


def test_null_removes_an_offset_and_leaves_others_unmodified(either: Tool) -> None:
    either.load({"new": [{"partition": {"a": 1}, "offset": {"b": "c"}}]})
    either.load({"old": [{**OLD[1], "offset": None}]})
    found = either.export()
    assert _sorted(found["old"]) == [OLD[0], OLD[2]]
    assert found["new"] == [{"partition": {"a": 1}, "offset": {"b": "c"}}]


def test_the_connectors_option_filters(either: Tool) -> None:
    either.load({n: [{"partition": {"a": n}, "offset": {"b": 1}}] for n in ("x", "y")})
    assert list(either.export("--connectors=x,y")) == ["x", "y"]
    assert list(either.export("--connectors=old")) == ["old"]
    changed = {"x": [{"partition": {"a": "x"}, "offset": None}], "y": [{"partition": {"a": "y"}, "offset": None}]}
    either.load(changed, "--connectors=x")
    assert sorted(either.export()) == ["old", "y"]


def test_dry_run_shows_the_difference_and_changes_nothing(either: Tool) -> None:
    before = either.export()
    shown = either.load(
        {"old": [{**OLD[0], "offset": {"position": 9}}, OLD[1], {**OLD[2], "offset": None}]}, "--dry-run"
    )
    assert shown.splitlines() == [
        'change old {"filename":"/f0"} {"position":0} -> {"position":9}',
        'remove old {"filename":"/f2"} {"position":2} -> null',
    ]
    assert either.export() == before


def test_from_beginning_includes_overwritten_offsets(cluster: Tool) -> None:
    cluster.load({"old": [{**OLD[0], "offset": {"position": 7}}]})
    cluster.load({"old": [{**OLD[0], "offset": None}]})
    entries = cluster.export("--from-beginning")["old"]
    assert [e["offset"] for e in entries if e["partition"] == OLD[0]["partition"]] == [
        {"position": 0}, {"position": 7}, None
    ]  # fmt: skip


def test_files_and_standard_streams(cluster: Tool, tmp_path: Path) -> None:
    target = tmp_path / "offsets.json"
    code, out, err = cluster.run_process("--export", str(target))
    assert (code, out, err) == (0, "", f"3 offsets of 1 connectors written to {target}\n")
    exported = json.loads(target.read_text())
    assert json.loads(cluster.run_process("--export")[1]) == cluster.export() == exported
    assert cluster.run("--import", str(target))[2] == "0 offsets changed\n"
    assert cluster.run_process("--import", given=exported)[2] == "0 offsets changed\n"


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--export", "--import"],
        ["--export", "a", "b"],
        ["--nonsense"],
        ["--exp"],
        ["--import", "--from-beginning"],
        ["--export", "--dry-run"],
        ["--export", "--connectors="],
        ["--export", "--connectors"],
        ["--export", "--config"],
    ],
)
def test_wrong_parameters_print_usage_and_exit_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: Sequence[str]
) -> None:
    assert cli.main([f"--config={tmp_path / 'worker.properties'}", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: headrace offsets")


def test_a_missing_config_prints_usage_and_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--export"]) == 2
    assert "--config" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, "", "group.id=g\n", "offset.storage.topic=o\nbootstrap.servers=b:1\n"])
def test_an_incomplete_worker_file_prints_one_line_and_exits_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    file = tmp_path / "worker.properties"
    if content is not None:
        file.write_text(content)
    assert cli.main([f"--config={file}", "--export"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_keys_keep_their_exported_order(cluster: Tool, tmp_path: Path, broker: KafkaBroker) -> None:
    """Java's workers look up offsets by the bytes of a partition, which have the order of the connector's own map."""
    given = '{"new":[{"partition":{"z":1,"a":{"y":2,"b":3}},"offset":{"q":1,"c":2}}]}'
    (tmp_path / "given.json").write_text(given)
    assert cluster.run("--import", str(tmp_path / "given.json"))[0] == 0
    entry = json.loads(given)["new"][0]
    exported = cluster.export("--connectors=new")
    assert json.dumps(exported["new"][0]) == json.dumps(entry)
    turned = {"partition": {"a": {"b": 3, "y": 2}, "z": 1}, "offset": {"q": 2}}
    cluster.load({"new": [turned]})  # the same partition, spelled differently
    assert [json.dumps(e["partition"]) for e in cluster.export("--connectors=new")["new"]] == [
        json.dumps(entry["partition"])
    ]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b'{"c":{}}',
        b'{"c":[{"partition":{}}]}',
        b'{"c":[{"partition":1,"offset":{}}]}',
        b'{"c":[{"partition":{"a":1e999},"offset":{}}]}',
        b'{"c":[{"partition":{"a":99999999999999999999},"offset":{}}]}',
        b'{"c":[{"partition":{"a":NaN},"offset":{}}]}',
        b'{"c":[],"c":[]}',
    ],
)
def test_an_import_is_validated_before_anything_is_written(file: Tool, tmp_path: Path, text: bytes) -> None:
    before = file.export()
    good = b'"old":[{"partition":{"filename":"/f0"},"offset":{"position":9}}],'
    (tmp_path / "bad.json").write_bytes(text.replace(b'{"c"', b"{" + good + b'"c"', 1))
    code, _, err = file.run("--import", str(tmp_path / "bad.json"))
    assert (code, err.count("\n")) == (2, 1)
    assert file.export() == before


def test_offset_converters_of_the_properties_are_honoured(file: Tool) -> None:
    before = file.export()
    with file.config.open("a") as config:
        config.write(f"internal.key.converter={JSON}\ninternal.value.converter={JSON}\n")
    assert file.export() == before
    file.load({"n": [{"partition": {"a": 1}, "offset": {"b": 2}}]})
    assert file.export()["n"] == [{"partition": {"a": 1}, "offset": {"b": 2}}]
    with file.config.open("a") as config:
        config.write("internal.key.converter=com.example.Avro\n")
    assert file.run("--export")[0] == 2


def test_no_offsets_are_written_to_a_topic_that_is_not_compacted(
    cluster: Tool, broker: KafkaBroker, tmp_path: Path
) -> None:
    """As after a mistake in the properties: the readers of a topic of records would get them."""
    topic = broker.create_topic()
    with cluster.config.open("a") as config:
        config.write(f"offset.storage.topic={topic}\n")
    document = tmp_path / "document.json"
    document.write_text('{"c":[{"partition":{"a":1},"offset":{"b":2}}]}')
    for options in ((), ("--dry-run",), ("--force",)):
        code, _, err = cluster.run("--import", str(document), *options)
        assert code == 1
        assert f"nothing was imported: topic {topic} (offset.storage.topic) has cleanup.policy=delete" in err
    assert cluster.export() == {}


def test_the_tool_refuses_while_our_worker_runs_unless_forced(worker: StartWorker) -> None:
    process = worker({"plugin.path": PLUGINS})
    connect = Connect(process)
    connect.create("c", _counting("t"), initial_state="STOPPED")
    connect.alter("c", ({"counter": "t"}, {"n": 3}))
    tool = Tool(process.properties_file)
    code, _, err = tool.run("--export")
    assert code == 1
    assert f"a worker is running ({process.url}" in err
    assert tool.export("--force") == {"c": [{"partition": {"counter": "t"}, "offset": {"n": 3}}]}
    process.kill()  # the group still has the member, but this machine knows that its process has ended
    tool.load({"c": [{"partition": {"counter": "t"}, "offset": {"n": 5}}]})
    process.start()
    assert connect.offsets("c") == [{"partition": {"counter": "t"}, "offset": {"n": 5}}]


def test_sinks_are_exported_in_the_shape_of_kip_875(stopped: StoppedWorker) -> None:
    tool, at, (_, name) = stopped.tool, stopped.at, stopped.take()
    exported = tool.export()
    assert exported[name] == [{"partition": at[p], "offset": {"kafka_offset": 3 + p}} for p in (0, 1)]
    tool.load({name: [{"partition": at[0], "offset": {"kafka_offset": 9}}, {"partition": at[1], "offset": None}]})
    assert tool.export()[name] == [{"partition": at[0], "offset": {"kafka_offset": 9}}]


def test_a_java_worker_continues_from_imported_offsets(cluster: Tool, broker: KafkaBroker, tmp_path: Path) -> None:
    process = java_worker(tmp_path / "java", broker.bootstrap, {})
    tool = Tool(process.properties_file)
    for kind in ("config", "offset"):
        broker.create_topic(process.properties[f"{kind}.storage.topic"], cleanup_policy="compact")
    tool.load(cluster.export())
    process.start()
    try:
        config = {"connector.class": "FileStreamSource", "file": "/f0", "topic": "t", **STRINGS}
        Connect(process).create("old", config, initial_state="STOPPED")
        assert _sorted(Connect(process).offsets("old")) == OLD
        code, _, err = tool.run("--export")
        assert (code, f"a worker is running ({process.url}" in err) == (1, True), err
    finally:
        process.stop()
    assert _sorted(tool.export()["old"]) == OLD


def test_an_import_that_is_killed_before_its_transaction_changes_nothing(
    stopped: StoppedWorker, tmp_path: Path
) -> None:
    process, tool, (name, _) = stopped.process, stopped.tool, stopped.take()
    tool.load({name: OLD})
    many = [{"partition": {"filename": f"/n{i}"}, "offset": {"position": i}} for i in range(10_000)]
    (tmp_path / "many.json").write_text(json.dumps({name: many}))
    _killed_import(tool, tmp_path / "many.json", "_produce", after=6_000)
    assert _sorted(tool.export()[name]) == OLD
    started = time.monotonic()
    process.start()
    assert _sorted(Connect(process).offsets(name)) == OLD
    assert time.monotonic() - started < soon()
    process.stop()
    assert tool.run("--import", str(tmp_path / "many.json"))[2] == "10000 offsets changed\n"
    assert len(tool.export()[name]) == 10_003


@pytest.mark.parametrize("by", ["worker", "tool"])
def test_an_import_that_is_killed_after_its_transaction_is_completed_next_time(
    stopped: StoppedWorker, tmp_path: Path, by: str
) -> None:
    """A group's offsets cannot be removed in a transaction: the journal records that they have to be removed."""
    process, tool, at, (source, sink) = stopped.process, stopped.tool, stopped.at, stopped.take()
    new: dict[str, list[dict[str, Any]]] = {
        source: [{"partition": {"counter": "t"}, "offset": {"n": 5}}],
        sink: [{"partition": at[0], "offset": {"kafka_offset": 9}}, {"partition": at[1], "offset": None}],
    }
    (tmp_path / "new.json").write_text(json.dumps(new))
    _killed_import(tool, tmp_path / "new.json", "remove", after=0)
    wanted = {source: new[source], sink: new[sink][:1]}
    if by == "tool":
        assert tool.export(f"--connectors={source},{sink}") == wanted
    else:
        process.start()
        assert {name: Connect(process).offsets(name) for name in wanted} == wanted
        process.stop()
    assert tool.run("--import", str(tmp_path / "new.json"))[2] == "0 offsets changed\n"


def _killed_import(tool: Tool, document: Path, method: str, after: int) -> None:
    """An import that is killed during the given call of a method of OfflineCluster."""
    script = (
        "import os, signal, sys\nfrom runtime.offsets_tool import cli\n"
        "from runtime.offsets_tool.cluster import OfflineCluster\n"
        f"call, left = OfflineCluster.{method}, iter(range({after}))\n"
        "def dying(self, *given):\n"
        "    if next(left, None) is None:\n"
        "        if hasattr(given[0], 'flush'): given[0].flush(10)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return call(self, *given)\n"
        f"OfflineCluster.{method} = dying; cli.main(sys.argv[1:])"
    )
    words = [f"--config={tool.config}", "--import", str(document)]
    killed = subprocess.run([sys.executable, "-c", script, *words], timeout=180, capture_output=True)
    assert killed.returncode == -9, killed.stderr


def _counting(topic: str) -> dict[str, str]:
    return {"connector.class": "headrace_test_plugins.CountingConnector", "topic": topic, "tasks.max": "1", **STRINGS}


def _sorted(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(entries, key=lambda e: str(e["partition"]))
