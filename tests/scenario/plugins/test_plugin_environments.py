"""Plugins with clashing dependencies side by side in one worker, in several versions, and reloaded under load."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import partial
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.packages.wheels import build_wheel
from tests.support.tasks.pipeline import records as records_of
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

SOURCE = '''
"""Writes numbered records with the version of a library, and where this task runs."""
import json
import os
import time
from runtime.api import SourceConnector, SourceRecord, SourceTask
{imports}
__version__ = "{version}"

class CountTask(SourceTask):
    def start(self, config):
        self._topic = config["topic"]
        offset = self.context.offsets.offset({{"of": self._topic}})
        self._next = 0 if offset is None else offset["n"]

    def poll(self):
        time.sleep(0.02)
        batch = range(self._next, self._next + 20)
        self._next = batch.stop
        return [SourceRecord({{"of": self._topic}}, {{"n": n + 1}}, self._topic, self._line(n)) for n in batch]

    def _line(self, n):
        return json.dumps({{"n": n, "lib": {lib}, "code": __version__, "pid": os.getpid(), "task": id(self)}})

class Count{name}(SourceConnector):
    task_class = CountTask
    def version(self): return __version__
    def start(self, config):
        self._config = {{**config, "lib": str({lib})}}
    def task_configs(self, max_tasks): return [self._config]
'''


def _source(name: str, version: str, library: bool) -> str:
    """The module of a plugin; with `library` its records have the version of the module hr_clash."""
    imports, lib = ("import hr_clash", "hr_clash.VERSION") if library else ("", "None")
    return SOURCE.format(name=name, version=version, imports=imports, lib=lib)


def _environment(folder: Path, version: str) -> None:
    """A folder with a plugin and its own version of a library."""
    build_wheel(folder, "hr_count", version, {"hr_count.py": _source("Own", version, True)}, {"c": "hr_count:CountOwn"})
    build_wheel(folder, "hr_clash", version, {"hr_clash.py": f"VERSION = '{version}'\n"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("plugins")
    _environment(found / "count-1.0", "1.0")
    _environment(found / "count-2.0", "2.0")
    (found / "hr_plain.py").write_text(_source("Plain", "old", False))
    (found / "hr_crash.py").write_text("import os\nos.abort()\n" + _source("Crash", "1", False))
    (found / "hr_hang.py").write_text("while True: pass\n" + _source("Hang", "1", False))
    return found


@pytest.fixture(scope="module")
def connect(folder: Path, module_worker: StartWorker) -> Connect:
    return Connect(module_worker({"plugin.path": str(folder), "offset.flush.interval.ms": "500"}))


def _start(connect: Connect, broker: KafkaBroker, cls: str, **more: str) -> tuple[str, str]:
    """A running connector and its topic."""
    name, topic = unique("count"), broker.create_topic()
    connect.create(name, {"connector.class": cls, "topic": topic, "tasks.max": "1", **STRINGS, **more})
    connect.wait(name, "RUNNING", ["RUNNING"], timeout=90)
    return name, topic


class _Records:
    """The records of a topic so far."""

    def __init__(self, broker: KafkaBroker, topic: str) -> None:
        self._broker, self._topic = broker, topic

    def read(self) -> list[dict[str, object]]:
        return [json.loads(value or b"") for _, value in records_of(self._broker, self._topic)]

    def values(self, key: str) -> set[object]:
        return {record[key] for record in self.read()}


def _has_records(records: _Records) -> bool:
    return bool(records.read())


def test_crashing_and_hanging_modules_do_not_disturb_the_listing(connect: Connect) -> None:
    listed = {(p["class"], p["version"]) for p in connect.ask("GET", "/connector-plugins")}
    assert {
        ("hr_count.CountOwn", "1.0"),
        ("hr_count.CountOwn", "2.0"),
        ("hr_plain.CountPlain", "old"),
        ("hr_crash.CountCrash", "1"),
        ("hr_hang.CountHang", "1"),
    } <= listed


def test_versions_with_clashing_dependencies_run_side_by_side(connect: Connect, broker: KafkaBroker) -> None:
    pids = {}
    for version, wanted in (("1.0", "[1,2)"), ("2.0", "latest")):
        name, topic = _start(connect, broker, "CountOwn", **{"connector.plugin.version": wanted})
        records = _Records(broker, topic)
        wait_until(partial(_has_records, records), 60, "records")
        assert (records.values("lib"), records.values("code")) == ({version}, {version})
        assert connect.status(name)["connector"]["version"] == version
        assert connect.ask("GET", f"/connectors/{name}/tasks")[0]["config"]["lib"] == version
        (pids[version],) = records.values("pid")
        keys = {k["name"] for k in connect.ask("GET", f"/connector-plugins/CountOwn/config?version={version}")}
        assert "tasks.max" in keys
    assert pids["1.0"] != pids["2.0"]


def test_a_version_that_does_not_exist_is_refused(connect: Connect) -> None:
    config = {"connector.class": "CountOwn", "topic": "t", "connector.plugin.version": "9.0", **STRINGS}
    status, answer = connect.request("POST", "/connectors", {"name": unique("none"), "config": config})
    assert status == 400
    assert "available versions: [1.0, 2.0]" in answer["message"]


def test_a_reload_under_load_loses_nothing(connect: Connect, broker: KafkaBroker, folder: Path) -> None:
    """New code of a plugin without environment and of one with an environment; other connectors notice nothing."""
    plain, plain_topic = _start(connect, broker, "CountPlain")
    own, own_topic = _start(connect, broker, "CountOwn", **{"connector.plugin.version": "latest"})
    other, other_topic = _start(connect, broker, "CountOwn", **{"connector.plugin.version": "1.0"})
    topics = {topic: _Records(broker, topic) for topic in (plain_topic, own_topic, other_topic)}
    wait_until(lambda: all(len(records.read()) > 200 for records in topics.values()), 60, "records")
    (folder / "hr_plain.py").write_text(_source("Plain", "new", False))
    _environment(folder / "count-3.0", "3.0")
    (answer,) = connect.ask("POST", "/connector-plugins/reload")["workers"].values()
    assert {plain, own} <= set(answer["restarted"]) and other not in answer["restarted"]
    assert answer["missing"] == []
    wait_until(lambda: "new" in topics[plain_topic].values("code"), 60, "the new code")
    wait_until(lambda: "3.0" in topics[own_topic].values("lib"), 60, "the new environment")
    assert connect.status(plain)["connector"]["version"] == "new"
    for topic, records in topics.items():
        seen = {int(str(record["n"])) for record in records.read()}
        assert seen == set(range(max(seen) + 1)), topic
    assert len(topics[other_topic].values("task")) == 1
    runs: dict[object, set[object]] = defaultdict(set)
    for record in topics[plain_topic].read():
        runs[record["code"]].add(record["pid"])
    assert not runs["old"] & runs["new"]


def test_a_reload_of_an_unknown_plugin(connect: Connect) -> None:
    status, answer = connect.request("POST", "/connector-plugins/reload?plugin=Nowhere")
    assert (status, answer["message"]) == (404, "Unknown plugin Nowhere.")
